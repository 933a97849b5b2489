//! A role that may connect, and perhaps create in `public`, and has no other right: what it makes is never
//! called, and it keeps no server from its tables.

use std::collections::BTreeSet;

use mainspring_job::{Reader, contract};
use mainspring_postgres::FORMAT_VERSION;

use super::contract::Shared;
use super::database::Database;
use super::members::workers_do_all;
use super::trouble::{MAX_TRIES, acquired, opened};

/// All that the store says to the database: the schema, and its own statements.
const SOURCES: [&str; 7] = [
    include_str!("../../mainspring-rows/src/questions.rs"),
    include_str!("../src/inbox.rs"),
    include_str!("../src/members.rs"),
    include_str!("../src/outputs.rs"),
    include_str!("../src/read.rs"),
    include_str!("../src/releases.rs"),
    include_str!("../src/store.rs"),
];

/// The types that stand in our calls.
const TYPES: [&str; 11] = [
    "int8",
    "int4",
    "text",
    "bool",
    "jsonb",
    "numeric",
    "timestamptz",
    "interval",
    "int8[]",
    "text[]",
    "bool[]",
];

/// Operators that take any type, for which an exact one would be preferred.
const OPERATORS: [&str; 7] = ["||", "=", "<>", "<", "@>", "&&", "->"];

/// The words of a text before a parenthesis.
fn called(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices('(') {
        let before = &text[..at];
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let is_qualified = before[..start].ends_with('.');
        let name = &before[start..];
        if !name.is_empty() && !is_qualified && name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            found.insert(name.to_owned());
        }
    }
    found
}

/// A function of each of these names for each one and two of the types. A call of one fails.
fn traps(names: &BTreeSet<String>) -> String {
    let mut sql = String::from("SET search_path = public; SET check_function_bodies = off;\n");
    let mut add = |name: &str, arguments: &str, answer: &str| {
        sql.push_str(&format!(
            "CREATE FUNCTION public.{name}({arguments}) RETURNS {answer} LANGUAGE plpgsql AS \
             $$BEGIN RAISE EXCEPTION 'trapped in {name}({arguments})'; END$$;\n"
        ));
    };
    for name in names {
        for first in TYPES {
            add(name, first, first);
            for second in TYPES {
                add(name, &format!("{first}, {second}"), first);
            }
        }
    }
    for operator in OPERATORS {
        for of in TYPES {
            let (right, function) = (of, format!("trap_{}", of.replace("[]", "_array")));
            sql.push_str(&format!(
                "CREATE OR REPLACE FUNCTION public.{function}({of}, {right}) RETURNS bool LANGUAGE plpgsql AS \
                 $$BEGIN RAISE EXCEPTION 'trapped in an operator'; END$$;\n\
                 CREATE OPERATOR public.{operator} (LEFTARG = {of}, RIGHTARG = {right}, FUNCTION = public.{function});\n"
            ));
        }
    }
    sql
}

#[test]
fn no_function_that_another_role_could_create_is_called() {
    let Some(database) = Database::start() else { return };
    let schema = mainspring_postgres::preview(0);
    let in_catalog =
        database.ask("SELECT string_agg(DISTINCT proname, ' ') FROM pg_proc WHERE pronamespace = 11");
    let in_catalog: BTreeSet<&str> = in_catalog.split_whitespace().collect();
    let names = SOURCES.iter().copied().chain([schema.as_str()]).flat_map(called);
    let names: BTreeSet<String> = names.filter(|name| in_catalog.contains(name.as_str())).collect();
    assert!(names.contains("cardinality") && 20 < names.len(), "{names:?}");
    database.ask("CREATE ROLE mallory LOGIN; GRANT CREATE ON SCHEMA public TO PUBLIC");
    database.script(&format!("SET ROLE mallory;\n{}", traps(&names)));
    let trapped = database.psql("mainspring", "SELECT cardinality('{1}'::int8[])");
    assert!(!trapped.status.success(), "a session without a path of its own is trapped");
    assert_eq!(contract::exercise(&mut Shared::new(&database, &database.url()), 4), Ok(()));
    workers_do_all(&database, &database.url());
    // A pooler passes no setting of a session on: there each function has its own.
    let bare = database.ask(
        "SET search_path = pg_catalog; SELECT count(*) FROM pg_proc AS p WHERE p.pronamespace = 'mainspring'::regnamespace
        AND NOT coalesce(p.proconfig::text LIKE '%search_path=pg_catalog, pg_temp%', false)",
    );
    assert_eq!(bare.trim(), "0", "functions that have no path of their own");
}

#[test]
fn a_role_that_may_only_connect_keeps_no_server_from_making_its_tables() {
    let Some(database) = Database::start() else { return };
    database.ask("CREATE ROLE stranger LOGIN");
    let number = i64::from_be_bytes(*b"mainspri");
    let mut stranger = database.session(&format!("SET ROLE stranger; SELECT pg_advisory_lock({number})"));
    let holds = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted";
    assert!((0..MAX_TRIES).any(|_| database.ask(holds) == "1"), "the stranger has the lock");
    acquired(&mut opened(&database));
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn of_servers_that_make_the_tables_at_once_none_fails() {
    let Some(database) = Database::start() else { return };
    std::thread::scope(|scope| {
        let servers: Vec<_> = (0..4).map(|_| scope.spawn(|| drop(opened(&database)))).collect();
        servers.into_iter().for_each(|server| server.join().unwrap());
    });
    assert_eq!(database.ask("SELECT version FROM mainspring.planner"), FORMAT_VERSION.to_string());
}

#[test]
fn where_other_roles_may_create_is_told() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    acquired(&mut store);
    database.ask(
        "CREATE ROLE mallory LOGIN; CREATE ROLE chief SUPERUSER; REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    );
    let mut places = || {
        let text = store.cluster().unwrap().unwrap();
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        found["database"]["others_create_in"].to_string()
    };
    assert_eq!(places(), "[]");
    // Who may do everything already gets nothing by it.
    database.ask("GRANT CREATE ON SCHEMA public, mainspring TO chief, mainspring");
    assert_eq!(places(), "[]");
    database.ask("GRANT CREATE ON SCHEMA public TO PUBLIC");
    assert_eq!(places(), r#"["the schema public"]"#);
    database
        .ask("GRANT CREATE ON SCHEMA mainspring TO mallory; GRANT CREATE ON DATABASE mainspring TO mallory");
    assert_eq!(places(), r#"["the database mainspring","the schema mainspring","the schema public"]"#);
}
