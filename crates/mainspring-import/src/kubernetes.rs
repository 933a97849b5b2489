//! CronJobs of Kubernetes: each is a job.
//!
//! ```text
//! CronJob ─ spec ─ jobTemplate ─ spec ─ template ─ spec ─ containers[0] ─ command, args, env
//!            │                    └ backoffLimit ..   └ restartPolicy ..
//!            └ schedule, timeZone, concurrencyPolicy ..
//! ```
//!
//! A file may have several documents, and lists of objects; objects of other kinds are told and left out. A
//! job runs on the machine of the server and in no container, so its image is a comment, and a container
//! without a command, which is then in the image, becomes a comment as a whole.
//!
//! Cost: one pass over the tree.
//!
//! Does not ask a cluster.
//!
//! Source: [CronJob](https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/cron-job-v1/).

mod manifest;
mod pod;
mod quantity;
mod reader;

use mainspring_file::source::Source;

use crate::facts::JobFacts;
use crate::finding::{Findings, text_of};
use crate::key::read_table;
use crate::yaml::{Node, documents};
use manifest::{TOP_KEYS, defaults, finish};
use reader::Manifest;

/// The jobs of a file.
pub(crate) fn read(source: &Source, file: usize, findings: &mut Findings) -> Vec<JobFacts> {
    let Some(text) = text_of(source, file, findings) else { return Vec::new() };
    let mut jobs = Vec::new();
    for document in documents(text, file, findings) {
        objects(&document, &mut jobs, findings);
    }
    jobs
}

/// An object, or those of a list.
fn objects(node: &Node, jobs: &mut Vec<JobFacts>, findings: &mut Findings) {
    let kind = node.get("kind").and_then(Node::text).unwrap_or_default();
    if kind == "List" || kind == "CronJobList" {
        for item in node.get("items").map(Node::list).unwrap_or_default() {
            // The items of a CronJobList need not say their kind.
            match kind == "CronJobList" {
                true => jobs.extend(job(item, findings)),
                false => objects(item, jobs, findings),
            }
        }
    } else if kind == "CronJob" {
        jobs.extend(job(node, findings));
    } else if node.is_table() {
        let name = node.get("metadata").and_then(|node| node.get("name")).and_then(Node::text);
        let message = format!("the {} `{}` is left out", kind_name(kind), name.unwrap_or("without a name"));
        findings.warn(&node.place, message, "only objects of the kind CronJob are jobs");
    } else if !matches!(node.value, crate::yaml::Value::Null) {
        findings.problem(&node.place, "expected an object with apiVersion, kind and spec");
    }
}

fn kind_name(kind: &str) -> &str {
    if kind.is_empty() { "object without a kind" } else { kind }
}

fn job(node: &Node, findings: &mut Findings) -> Option<JobFacts> {
    let mut manifest = Manifest::new("", node.place.clone());
    manifest.job.policies = defaults();
    read_table(TOP_KEYS, &mut manifest, node);
    finish(&mut manifest, node);
    findings.append(manifest.findings);
    Some(manifest.job)
}
