//! The keys of a pod and of its container.
//!
//! Cost: one look at each key.
//!
//! Does not look into ConfigMaps and Secrets.

use mainspring_job::MAX_KILL_GRACE;

use super::quantity::{bytes, percent};
use super::reader::{Manifest, ManifestWords};
use crate::facts::{Call, Variables};
use crate::key::{Key, is, lost, near, read_table, unneeded};
use crate::yaml::Node;

/// Keys of the pod's `spec`.
pub(super) const POD_KEYS: &[Key<ManifestWords, Node>] = &[
    is("containers", "run", containers, "the first; a job is one process"),
    lost(
        "initContainers",
        "nothing runs before the command",
        "put it before the command in a shell, or make it a job and this one after = \"..\"",
    ),
    lost("ephemeralContainers", "a job is one process", "nothing has to be done"),
    unneeded("restartPolicy", "a failed run is tried again by retry in any case"),
    is(
        "terminationGracePeriodSeconds",
        "timeout",
        grace,
        "its `grace`, up to an hour; 30 s without it, as there",
    ),
    near("activeDeadlineSeconds", "timeout", active_deadline, "the time is that of each attempt"),
    lost("volumes", "no volume is mounted", "use folders of the machine in the command"),
    lost(
        "securityContext",
        "the job runs as the server's user",
        "user = \"NAME:GROUP\", umask, no_new_privileges",
    ),
    lost(
        "serviceAccountName serviceAccount",
        "the job has no token of the cluster",
        "give kubectl a kubeconfig: env = { KUBECONFIG = \"/path\" }",
    ),
    lost(
        "nodeSelector affinity tolerations topologySpreadConstraints nodeName runtimeClassName schedulerName schedulingGates resourceClaims overhead",
        "the job runs where the server is",
        "serve the file on the machine that it needs",
    ),
    lost(
        "priorityClassName priority preemptionPolicy",
        "no run is ended for another",
        "priority = 10 starts a run first where several wait",
    ),
    lost(
        "hostAliases dnsPolicy dnsConfig hostname subdomain setHostnameAsFQDN",
        "names are looked up as on the machine",
        "/etc/hosts, or nothing",
    ),
    unneeded(
        "imagePullSecrets automountServiceAccountToken enableServiceLinks shareProcessNamespace hostNetwork hostPID hostIPC hostUsers os readinessGates",
        "there is no container",
    ),
];

/// Keys of a container.
const CONTAINER_KEYS: &[Key<ManifestWords, Node>] = &[
    unneeded(
        "name imagePullPolicy terminationMessage* stdin stdinOnce tty resizePolicy",
        "there is no container",
    ),
    is("image", "a comment", image, "the command runs on the machine: what it needs must be there"),
    is("command", "run", command, "`$(NAME)` of a variable that is given here is put in"),
    is(
        "args",
        "run",
        |reader, node| reader.values.args = words(reader, node),
        "behind the command; without a command the job is a comment, because that is in the image",
    ),
    is("env", "env", env, ""),
    lost(
        "envFrom",
        "the ConfigMap or Secret is not read",
        "env_file = \"/path\", or secrets = { NAME = \"/path\" }",
    ),
    is("workingDir", "cwd", working_dir, "else the user's home"),
    is(
        "resources",
        "memory_max, cpu_max",
        |reader, node| read_table(RESOURCE_KEYS, reader, node),
        "its limits",
    ),
    lost("volumeMounts volumeDevices", "no volume is mounted", "use folders of the machine in the command"),
    lost(
        "securityContext",
        "the job runs as the server's user",
        "user = \"NAME:GROUP\", umask, no_new_privileges",
    ),
    lost(
        "livenessProbe readinessProbe startupProbe lifecycle restartPolicy",
        "a run is not asked how it is",
        "timeout ends what hangs",
    ),
    unneeded("ports", "a process opens its ports itself"),
];

/// Keys of `resources`.
const RESOURCE_KEYS: &[Key<ManifestWords, Node>] = &[
    is("limits", "memory_max, cpu_max", |reader, node| read_table(LIMIT_KEYS, reader, node), ""),
    unneeded("requests claims", "the job runs where the server is"),
];

/// Keys of `resources.limits`.
const LIMIT_KEYS: &[Key<ManifestWords, Node>] = &[
    is("memory", "memory_max", memory, "a run that gets no cgroup fails"),
    is("cpu", "cpu_max", cpu, "a run that gets no cgroup fails"),
    lost(
        "ephemeral-storage hugepages-* nvidia* amd*",
        "this is not limited",
        "limits = { file_bytes = .. } limits a file",
    ),
];

/// Keys of a variable.
const VARIABLE_KEYS: &[Key<ManifestWords, Node>] = &[
    unneeded("name value", "they are the variable"),
    lost("valueFrom", "the variable is left out", "write it into env, or secrets = { NAME = \"/path\" }"),
];

fn containers(reader: &mut Manifest, node: &Node) {
    for (index, container) in node.list().iter().enumerate() {
        if index == 0 {
            reader.values.has_container = true;
            read_table(CONTAINER_KEYS, reader, container);
            continue;
        }
        let message = "a second container has no equal here, and is left out";
        reader.findings.warn(&container.place, message, "make it a job of its own");
    }
}

/// The time of a pod, and that of a job.
pub(super) fn active_deadline(reader: &mut Manifest, node: &Node) {
    reader.job.policies.timeout.after = reader.seconds(node).filter(|duration| !duration.is_zero());
}

fn grace(reader: &mut Manifest, node: &Node) {
    let Some(duration) = reader.seconds(node) else { return };
    if MAX_KILL_GRACE < duration {
        let message = "the time until SIGKILL is at most an hour here";
        reader.findings.warn(&node.place, message, "nothing has to be done");
    }
    reader.job.policies.timeout.kill.grace = duration.min(MAX_KILL_GRACE);
}

fn image(reader: &mut Manifest, node: &Node) {
    if let Some(text) = reader.text(node) {
        reader.job.comment(format!("image: {text}"));
        reader.job.image = Some(text.to_owned());
    }
}

fn words(reader: &mut Manifest, node: &Node) -> Vec<String> {
    node.list().iter().filter_map(|word| reader.text(word).map(str::to_owned)).collect()
}

fn command(reader: &mut Manifest, node: &Node) {
    reader.values.command = words(reader, node);
}

fn env(reader: &mut Manifest, node: &Node) {
    for variable in node.list() {
        read_table(VARIABLE_KEYS, reader, variable);
        let named = variable.get("name").and_then(Node::text);
        match (named, variable.get("value"), variable.get("valueFrom")) {
            (Some(name), Some(value), _) => {
                let value = expanded(value.text().unwrap_or_default(), &reader.values.env);
                reader.values.env.set(name, value);
            }
            (Some(name), None, None) => reader.values.env.set(name, String::new()),
            _ => {}
        }
    }
}

fn working_dir(reader: &mut Manifest, node: &Node) {
    reader.job.body.cwd = reader.text(node).map(Into::into);
}

fn memory(reader: &mut Manifest, node: &Node) {
    reader.job.body.memory_max = reader.text(node).and_then(bytes);
    if reader.job.body.memory_max.is_none() {
        reader.findings.problem(&node.place, "expected a quantity such as 512Mi");
    }
}

fn cpu(reader: &mut Manifest, node: &Node) {
    reader.job.body.cpu_max = reader.text(node).and_then(percent);
    if reader.job.body.cpu_max.is_none() {
        reader.findings.problem(&node.place, "expected a quantity such as 500m or 2");
    }
}

/// A text with `$(NAME)` of these variables put in; `$$` is `$`.
fn expanded(text: &str, env: &Variables) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let name = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        let value = name.and_then(|(name, _)| env.value(name));
        match (value, name) {
            (Some(value), Some((_, behind))) => {
                out.push_str(value);
                rest = behind;
            }
            _ if after.starts_with('$') => {
                out.push('$');
                rest = &after[1..];
            }
            _ => {
                out.push('$');
                rest = after;
            }
        }
    }
    out + rest
}

/// Judges what stands in several keys.
pub(super) fn finish(reader: &mut Manifest) {
    let ManifestWords { command, args, mut env, has_container, .. } = std::mem::take(&mut reader.values);
    let words = |words: &[String]| words.iter().map(|word| expanded(word, &env)).collect::<Vec<_>>();
    let (mut run, args) = (words(&command), words(&args));
    reader.job.body.env = env.take();
    if !run.is_empty() {
        run.extend(args);
        reader.job.body.run = run;
        return;
    }
    let message = match (&reader.job.image, has_container) {
        (_, false) => "there is no container".to_owned(),
        (Some(image), _) => format!("the command is in the image `{image}`"),
        (None, _) => "the container has no command".to_owned(),
    };
    reader.job.call = Some(Call::Arguments(args));
    reader.job.no_command = Some(message);
}
