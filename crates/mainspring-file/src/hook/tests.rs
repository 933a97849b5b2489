//! Calls of a hook for each kind of notice, and targets as files write them.

use super::*;
use mainspring_action::receiver::request;

#[test]
fn targets_are_told_apart_by_how_they_begin_and_written_as_they_were() {
    let mail = Target::parse("mailto:a@b, c@d").unwrap();
    assert_eq!(mail, Target::Mail(vec!["a@b".into(), "c@d".into()]));
    assert_eq!(mail.to_string(), "mailto:a@b,c@d");
    let kind = |text: &str| match Target::parse(text).unwrap() {
        Target::Webhook(target) => Some((target.kind, target.webhook.url)),
        _ => None,
    };
    assert_eq!(kind("https://x/y"), Some((None, "https://x/y".into())));
    let chat = "slack:https://chat.lan/hooks/1";
    assert_eq!(kind(chat), Some((Some("slack".into()), "https://chat.lan/hooks/1".into())));
    assert_eq!(Target::parse(chat).unwrap().to_string(), chat);
    assert_eq!(Target::parse("page me"), Ok(Target::Command("page me".into())));
    let command = Target::parse("slack:/usr/bin/notify").unwrap();
    assert_eq!(command, Target::Command("slack:/usr/bin/notify".into()));
    let misspelt = Target::parse("slak:https://chat.lan/hooks/1").unwrap_err();
    assert_eq!(misspelt, "no receiver is called `slak`; did you mean `slack`?");
    for bad in ["", " ", "mailto:", "mailto:-oQ/tmp", "mailto:a b", "http://"] {
        assert!(Target::parse(bad).is_err(), "{bad}");
    }
}

fn notice(kind: NoticeKind) -> Notice {
    let mut notice = Notice::new(JobName::new("j").unwrap(), kind, jiff::Timestamp::UNIX_EPOCH);
    notice.run = Some("j@1970-01-01T00:00:00Z".parse().unwrap());
    notice
}

fn bodies(hook: &JobHook, notice: &Notice) -> Vec<Body> {
    hook.calls(notice).iter().map(|call| Body::decode(&call.work.action).unwrap()).collect()
}

#[test]
fn what_is_told_has_the_reason_the_output_and_a_link_wherever_it_goes() {
    let targets = ["mailto:a@b", "http://x/{job}", "page"].map(|text| Target::parse(text).unwrap());
    let page = Some("https://cron.example/".to_owned());
    let hook = JobHook { targets: Some(targets.to_vec()), page, ..JobHook::default() };
    let mut notice = notice(NoticeKind::Failed);
    notice.detail = "said {job}\n\"quoted\"".into();
    let bodies = bodies(&hook, &notice);
    let [Body::Mail(mail), Body::Notification(webhook), Body::Notification(process)] = &bodies[..] else {
        panic!("{bodies:?}")
    };
    let link = "https://cron.example/?page=run&run=j%401970-01-01T00%3A00%3A00Z";
    let letter = mail.message("out", &[]);
    assert!(letter.contains("Subject: [mainspring] j has failed on "), "{letter}");
    assert!(letter.contains(link) && letter.contains("reason    said {job}"), "{letter}");
    for body in [webhook, process] {
        assert_eq!(body.output_of.as_deref(), Some("j@1970-01-01T00:00:00Z"));
        assert_eq!((body.facts.url.as_str(), body.facts.event.as_str()), (link, "failed"));
        assert_eq!(body.facts.reason, "said {job}\\n\"quoted\"");
    }
    let Destination::Webhook(target) = &webhook.to else { panic!("{webhook:?}") };
    assert_eq!(request(target, &webhook.facts, "").unwrap().url, "http://x/%7Bjob}");
}

#[test]
fn notifications_of_another_user_go_behind_those_of_the_server_and_have_places_of_their_own() {
    let work = |user: Option<&str>| {
        let targets = Some(vec![Target::parse("page").unwrap()]);
        let hook = JobHook { targets, user: user.map(str::to_owned), ..JobHook::default() };
        hook.calls(&notice(NoticeKind::Failed)).remove(0).work
    };
    let (own, another) = (work(None), work(Some("another:tty")));
    assert_eq!(own.priority, work(Some(&format!("{}:tty", ourselves()))).priority);
    assert!(another.priority < own.priority);
    let [of_server, of_each_user] = &groups()[..] else { panic!("{:?}", groups()) };
    assert_eq!(own.group.as_ref(), Some(&of_server.name));
    assert_eq!(another.group.unwrap().as_str(), format!("{}another", of_each_user.name));
}

#[test]
fn only_a_ping_and_a_mail_of_output_are_made_of_each_run() {
    let hook = JobHook {
        ping_url: PingTarget::parse("https://hc-ping.com/u"),
        mail_output: vec!["a@b".into()],
        targets: Some(vec![Target::parse("page").unwrap()]),
        ..JobHook::default()
    };
    let urls = |notice: &Notice| {
        let summaries = bodies(&hook, notice).into_iter().filter(|body| !matches!(body, Body::Mail(_)));
        summaries.map(|body| body.summary()).collect::<Vec<_>>()
    };
    let mut ended = notice(NoticeKind::Ended);
    let start = urls(&notice(NoticeKind::Started)).remove(0);
    let (start, id) = start.split_once("?rid=").unwrap();
    assert_eq!(start, "POST https://hc-ping.com/u/start");
    assert!(id.len() == 36 && id.as_bytes()[14] == b'8' && b"89ab".contains(&id.as_bytes()[19]), "{id}");
    for (outcome, path) in
        [("succeeded", ""), ("exit 3", "/3"), ("signal 9", "/fail"), ("timed out", "/fail")]
    {
        ended.outcome = Some(Outcome::from(outcome));
        assert_eq!(urls(&ended), [format!("POST https://hc-ping.com/u{path}?rid={id}")], "{outcome}");
    }
    assert_eq!(bodies(&hook, &ended).len(), 2);
}
