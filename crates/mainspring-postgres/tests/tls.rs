//! Sessions over TLS: whose certificate is taken, and what people are told of one that is not.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use mainspring_job::{Owner, Store};
use mainspring_postgres::{Identity, Location, PostgresStore};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::database::Database;

/// A folder of files, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("mainspring-tls-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A file that the database server takes for its key: its own, and no other's.
    fn write_key(&self, name: &str, text: &str) -> String {
        let path = self.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if nix::unistd::Uid::effective().is_root()
            && let Some(user) = nix::unistd::User::from_name("postgres").unwrap()
        {
            chown(Path::new(&path), Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
        }
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn authority() -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), Issuer::new(params, key))
}

/// A port that no process listened at a moment ago.
fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

fn opened(port: &str, host: &str, options: &str) -> Result<PostgresStore, String> {
    let url = format!("postgres://mainspring@{host}:{port}/mainspring?{options}");
    let location = Location::parse(&url).unwrap();
    PostgresStore::open(&location, Identity::default()).map_err(|error| error.to_string())
}

#[test]
fn a_session_over_tls_is_with_the_host_that_was_named() {
    let folder = Folder::new();
    let ((right, issuer), (wrong, _)) = (authority(), authority());
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap().pem();
    let (right, wrong) = (folder.write("right", &right), folder.write("wrong", &wrong));
    let settings = [
        "listen_addresses=localhost".to_owned(),
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", folder.write("certificate", &certificate)),
        format!("ssl_key_file={}", folder.write_key("key", &key.serialize_pem())),
    ];
    let port = free_port();
    let Some(database) = Database::start_at(&port, &settings) else { return };
    for mode in ["require", "verify-full"] {
        let options = format!("sslmode={mode}&sslrootcert={right}");
        let mut store = opened(&port, "localhost", &options).unwrap();
        store.acquire(&Owner::new("one")).unwrap();
        let sessions = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
            WHERE ssl AND application_name = 'mainspring'";
        assert_eq!(database.ask(sessions), "1", "it is encrypted");
        drop(store);
        let refused = opened(&port, "localhost", &format!("sslmode={mode}&sslrootcert={wrong}")).unwrap_err();
        assert!(refused.contains("by no authority that is trusted: sslrootcert=FILE"), "{refused}");
        let refused = opened(&port, "localhost", &format!("sslmode={mode}")).unwrap_err();
        assert!(refused.contains("by no authority that is trusted"), "the public ones do: {refused}");
        let refused = opened(&port, "127.0.0.1", &options).unwrap_err();
        assert!(refused.contains("it is for another host: "), "{refused}");
        assert!(refused.contains("localhost"), "{refused}");
        database.ask("UPDATE mainspring.planner SET until = '-infinity'");
    }
}

#[test]
fn a_server_without_tls_is_refused_where_it_is_asked_for() {
    let port = free_port();
    let Some(_database) = Database::start_at(&port, &["listen_addresses=localhost".to_owned()]) else {
        return;
    };
    opened(&port, "localhost", "sslmode=disable").unwrap();
    for mode in ["require", "verify-full"] {
        let refused = opened(&port, "localhost", &format!("sslmode={mode}")).unwrap_err();
        assert!(refused.contains("server does not support TLS"), "{refused}");
    }
}
