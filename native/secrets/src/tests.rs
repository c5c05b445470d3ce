use super::*;

const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n";
/// In parts, so that no scanner takes this file for a leak.
fn github_token() -> String {
    ["gh", "p_", "1a2B3c4D5e6F7g8H9i0Jk1L2m3N4o5P6q7R8"].concat()
}

fn rule(holds: Option<Content>) -> HideRule {
    HideRule { glob: "**/x".into(), holds, reason: Some("secret".into()), shows: false }
}

fn hides(holds: Option<Content>, path: &str, text: impl AsRef<[u8]>) -> bool {
    match judge([rule(holds)].iter(), path.as_bytes(), || false) {
        Judgement::Visible => false,
        Judgement::Hidden(_) => true,
        Judgement::IfHolding(tests) => tests.settle(Ok(Some(text.as_ref().into()))).is_some(),
    }
}

#[test]
fn a_name_alone_hides_and_a_users_rule_goes_before_what_is_shown() {
    let (built_in, users) = (rule(None), HideRule::named("**/x"));
    assert_eq!(judge([&built_in].into_iter(), b"a/.env", || false), Judgement::Hidden("secret"));
    assert_eq!(judge([&built_in].into_iter(), b"a/.env", || true), Judgement::Visible);
    assert_eq!(judge([&built_in, &users].into_iter(), b"a/.env", || true), Judgement::Hidden(DENIED));
    assert_eq!(judge([].into_iter(), b"a/.env", || false), Judgement::Visible);
}

#[test]
fn what_cannot_be_read_is_hidden_and_what_is_no_file_is_not() {
    let rule = rule(Some(Content::PrivateKey));
    let Judgement::IfHolding(tests) = judge([&rule].into_iter(), b"id_rsa", || false) else { panic!("a test") };
    assert_eq!(tests.settle(Err(std::io::ErrorKind::PermissionDenied.into())), Some(UNREADABLE));
    assert_eq!(tests.settle(Ok(None)), None);
}

fn wide(text: &str, bytes: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn private_keys_are_told_by_what_is_in_them() {
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
    };
    let body = "MC4CAQAwBQYDK2VwBCIEIKj3Nq";
    let keys = [
        KEY.as_bytes().to_vec(),
        format!("-----BEGIN PRIVATE KEY-----\n{body}\n").into_bytes(),
        format!("{CERTIFICATE}-----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\r\n{body}").into_bytes(),
        format!("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{body}").into_bytes(),
        format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{body}").into_bytes(),
        format!("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n{body}").into_bytes(),
        format!("{{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{body}\\n\"}}").into_bytes(),
        b"PuTTY-User-Key-File-3: ssh-ed25519\n".to_vec(),
        b"# created: 2024\nAGE-SECRET-KEY-1QQPQQQ".to_vec(),
        format!("export SOPS_AGE_KEY=AGE-SECRET-KEY-1{}", "QPZRY9X8".repeat(8)).into_bytes(),
        b"# of a token\nAGE-PLUGIN-YUBIKEY-1QQPQQQ".to_vec(),
        format!("text = '-----BEGIN PRIVATE KEY-----\\n' +\n  '{body}\\n'").into_bytes(),
        b"privatekey=yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk= # mine\n".to_vec(),
        b"\0\0\0\x02\0\0\0\x14salt".to_vec(),
        wide(&format!("-----BEGIN PRIVATE KEY-----\r\n{body}\r\n"), u16::to_le_bytes),
        wide(&format!("\u{feff}-----BEGIN PRIVATE KEY-----\n{body}\n"), u16::to_be_bytes),
        [b"\xef\xbb\xbfPuTTY-User-Key-File-3: ssh-ed25519\n".as_slice()].concat(),
        b"[Interface]\nPrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n".to_vec(),
        br#"{"kty":"EC","crv":"P-256","x":"a","y":"b","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#.to_vec(),
        b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5".to_vec(),
        b"\xfe\xed\xfe\xed\0\0\0\x02\0\0\0\x01\0\0\0\x01\0\x01k".to_vec(),
        // PKCS#8 of an Ed25519 key, SEC 1, PKCS#12, an encrypted PKCS#8, OpenPGP.
        hex("302e020100300506032b657004220420").into_iter().chain([7; 32]).collect(),
        hex("30770201010420").into_iter().chain([7; 32]).collect(),
        hex("308203e9020103308203af06092a864886f70d010701a0"),
        hex("3081a0301b06092a864886f70d010503300e0408000102030405060702020800048180")
            .into_iter()
            .chain([7; 128])
            .collect(),
        hex("9503c504600000000108"),
    ];
    for (index, key) in keys.iter().enumerate() {
        assert!(hides(Some(Content::PrivateKey), "k", key), "key {index}");
        assert!(hides(Some(Content::PrivateKey), "node_modules/a/k", key), "key {index}");
    }
    let others = [
        CERTIFICATE.as_bytes().to_vec(),
        b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n".to_vec(),
        b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ me@example\n".to_vec(),
        b"HEADER = '-----BEGIN PRIVATE KEY-----'\nFOOTER = '-----END PRIVATE KEY-----'\n".to_vec(),
        b"text = '-----BEGIN RSA PRIVATE KEY-----\\n' + body\n".to_vec(),
        b"if line.startswith('AGE-SECRET-KEY-1'): raise ValueError\n".to_vec(),
        b"-----BEGIN PRIVATE KEY-----\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n".to_vec(),
        b"import uuid\ndef next_id(): ...\n".to_vec(),
        // A store of one certificate; a certificate in DER; a zip (Keynote's `.key`).
        b"\xfe\xed\xfe\xed\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\x01k\0\0\0\0\0\0\0\0\0\x05X.509\0\0\0\x01c".to_vec(),
        hex("308203773082025fa003020102020402000000"),
        b"PK\x03\x04".to_vec(),
        Vec::new(),
    ];
    for (index, other) in others.iter().enumerate() {
        assert!(!hides(Some(Content::PrivateKey), "k", other), "other {index}");
    }
}

#[test]
fn credentials_are_values_of_what_is_called_so() {
    let credential = |text: &str| hides(Some(Content::Credential), "f", text);
    for text in [
        "//registry.example.org/:_authToken=8f3c0a12-77aa-4f02-9d8d-7f4a6f1a2b3c",
        "db_password = \"correct horse\"",
        "DB_PASSWORD=hunter22",
        "  client-key-data: LS0tLS1CRUdJTg==",
        "{\"auths\": {\"r\": {\"auth\": \"dXNlcjpwYXNz\"}}}",
        "<password>pa55word</password>",
        "define('DB_PASSWORD', 'pa55word');",
        "[pypi]\nusername = __token__\npassword = pa55w0rd\n",
        "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCY",
        "{\"refresh_token\":\"1//0gabcdef\"}",
        "[global]\nindex-url = https://me:pa55word@pypi.example.org/simple",
        "BUNDLE_GEMS__EXAMPLE__COM: \"me:pa55word\"",
        "<add key=\"ClearTextPassword\" value=\"33f!!lloppa\" />",
        "password = \"pa(ss[word\"",
        "# a comment\rpassword=hunter22",
        "\u{feff}password=hunter22",
    ] {
        assert!(credential(text), "{text}");
    }
    for text in [
        "registry=https://registry.example.com/\nfund=false",
        "//registry.example.com/:_authToken=${NPM_TOKEN}",
        "password = \"\"",
        "DB_PASSWORD=changeme",
        "password: <%= ENV['PW'] %>",
        "token_url = \"https://login.test/token\"",
        "# password = hunter22",
        "password = os.environ['PW']",
        "token = secrets.token_hex(16)",
        "region = \"eu-west-1\"",
        "{\"auths\": {}, \"credsStore\": \"desktop\"}",
        "<add key=\"ClearTextPassword\" value=\"%NUGET_PASSWORD%\" />",
        "<add key=\"packages\" value=\"https://packages.example.org/index.json\" protocolVersion=\"3\" />",
        "BUNDLE_BUILD__NOKOGIRI: \"--use-system-libraries\"",
        "index-url = https://pypi.example.org/simple",
        "index-url = https://me:${PASSWORD}@pypi.example.org/simple",
    ] {
        assert!(!credential(text), "{text}");
    }
}

#[test]
fn tokens_have_a_format() {
    let token = github_token();
    assert!(hides(Some(Content::Token), "config.json", format!("{{\"x\": \"{token}\"}}")));
    assert!(hides(Some(Content::Token), "f", ["key=AK", "IAQ3EGRUVWZ7PLMN42"].concat()));
    for text in ["AKIAIOSFODNN7EXAMPLE", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-", "password: hunter2"] {
        assert!(!hides(Some(Content::Token), "f", text), "{text}");
    }
}

#[test]
fn logins_and_remotes_have_a_password() {
    let (login, remote) = (Some(Content::Login), Some(Content::Remote));
    assert!(hides(login, ".netrc", "machine h login u password p4ss"));
    assert!(hides(login, ".pgpass", "db:5432:*:user:p4ss"));
    assert!(hides(login, ".git-credentials", "https://user:p4ss@host"));
    assert!(hides(login, ".htpasswd", "user:$apr1$x$y") && hides(login, ".htpasswd", "user:{SHA}W6ph5Mm5"));
    assert!(hides(login, ".netrc", "machine h login u account default password p4ss"));
    assert!(!hides(login, ".netrc", "machine h login u password $PASSWORD"));
    assert!(!hides(login, ".netrc", "# nothing\n\n") && !hides(login, ".netrc", "machine h login u"));
    assert!(hides(remote, ".git/config", "[remote \"o\"]\n\turl = https://user:p4ss@host/x.git"));
    assert!(hides(remote, ".git/config", format!("\turl = https://{}@host/x.git", github_token())));
    assert!(hides(remote, ".git/config", "\textraheader = AUTHORIZATION: basic eDp5"));
    assert!(!hides(remote, ".git/config", "\turl = https://user@host/x.git\n\turl = git@host:x.git"));
    assert!(!hides(remote, ".git/config", "\turl = ssh://git@host/x.git"));
}

#[test]
fn copies_without_values_and_what_others_wrote_are_asked_for_less() {
    assert!(!hides(None, ".env.example", "PASSWORD=hunter22") && !hides(None, "a/sample.env", "X=1"));
    assert!(hides(None, ".env.example", format!("TOKEN={}", github_token())));
    assert!(!hides(None, "node_modules/a/.env", "PASSWORD=hunter22"));
    assert!(hides(None, "vendor/a/.env", "PASSWORD=hunter22") && !hides(None, "vendor/a/.env", "DEBUG=1"));
    assert!(hides(None, "my_node_modules/.env", "") && hides(None, "node_modules/a/.ssh", ""));
    let credential = Some(Content::Credential);
    assert!(!hides(credential, "lib/python3/site-packages/a/secrets.json", "password=hunter22"));
    assert!(hides(credential, "src/secrets.json", "password=hunter22"));
}

#[test]
fn in_program_text_only_a_literal_is_a_value() {
    let hides = |path, text| hides(Some(Content::Credential), path, text);
    for text in [
        "export const noCredentials: CredentialSource = () => Promise.resolve(null);",
        "const token = response.token;",
        "let password: Sealed = given;",
    ] {
        assert!(!hides("src/credentials.ts", text), "{text}");
    }
    assert!(!hides("secrets.PY", "token = settings") && hides("secrets.txt", "token = settings"));
    for text in ["const token = 'hunter22x';", "password: \"hunter22\",", "SECRET = `hunter22`"] {
        assert!(hides("src/credentials.ts", text), "{text}");
    }
    assert!(hides("credentials.ts", KEY) && hides("ts", "password = hunter22") && hides("a.ts/x", "password=hunter22"));
}

#[test]
fn rules_of_an_earlier_version_are_read_as_rules_on_names() {
    let old: HideRule = serde_json::from_str(r#"{"glob":"**/.npmrc","containing":["_authToken"]}"#).expect("read");
    assert_eq!(old, HideRule::named("**/.npmrc"));
}

#[test]
fn a_huge_file_is_read_at_both_ends_and_a_pipe_not_at_all() {
    use std::{io::Write, os::fd::AsFd};
    let mut file = tempfile::tempfile().expect("file");
    file.set_len(1 << 30).expect("grow");
    assert!(!key_material::is_in(&Sample::of(file.as_fd()).expect("read").expect("a file")));
    file = tempfile::tempfile().expect("file");
    file.set_len(16 << 20).expect("grow");
    std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).expect("seek");
    file.write_all(KEY.as_bytes()).expect("write");
    let sample = Sample::of(file.as_fd()).expect("read").expect("a file");
    assert!(key_material::is_in(&sample) && sample.parts().map(<[u8]>::len).sum::<usize>() <= (128 << 10) + 1);
    file = tempfile::tempfile().expect("file");
    file.set_len(3 << 20).expect("grow");
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(2 << 20)).expect("seek");
    file.write_all(KEY.as_bytes()).expect("write");
    assert!(key_material::is_in(&Sample::of(file.as_fd()).expect("read").expect("a file")));
    let (reader, _writer) = std::io::pipe().expect("pipe");
    assert!(Sample::of(reader.as_fd()).expect("a look").is_none());
}

#[test]
fn text_made_of_beginnings_takes_no_longer_than_its_size() {
    const BYTES: usize = 128 << 10;
    // No end of the text is a token or a value, so each beginning is looked at.
    for text in ["sk-proj-", "token=("] {
        let text = ["example-", &text.repeat(BYTES / text.len())].concat();
        let started = std::time::Instant::now();
        assert!(!hides(Some(Content::Credential), "settings.txt", &text));
        // A hundred times what it takes; a minute and more without a bound.
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
    }
}

#[test]
fn a_test_that_was_made_is_not_made_again() {
    let rule =
        |holds, reason: &str| HideRule { holds: Some(holds), reason: Some(reason.into()), ..HideRule::named("x") };
    let both = [rule(Content::PrivateKey, "key"), rule(Content::Credential, "password")];
    let tests = |rules: &'static [HideRule], path: &str| match judge(rules.iter(), path.as_bytes(), || false) {
        Judgement::IfHolding(tests) => tests,
        other => panic!("{other:?}"),
    };
    let both: &'static [HideRule] = Box::leak(Box::new(both));
    let text = || Ok(Some(Sample::from(&b"password=hunter22xyz"[..])));
    let unread = || -> std::io::Result<Option<Sample>> { panic!("read again") };
    let mut known = Known::default();
    assert_eq!(tests(&both[..1], "a.json").settle_known(&mut known, text), None);
    assert_eq!(tests(&both[..1], "a.json").settle_known(&mut known, unread), None);
    assert_eq!(tests(both, "a.json").settle_known(&mut known, text), Some("password"));
    let known = &mut Known::of_bits(known.bits());
    assert_eq!(tests(both, "a.json").settle_known(known, unread), Some("password"));
    assert_eq!(tests(&both[1..], "a.json").settle_known(known, unread), Some("password"));
    // Program text is tested in another way.
    let mut is_read = false;
    tests(&both[1..], "a.py").settle_known(known, || {
        is_read = true;
        text()
    });
    assert!(is_read);
}

#[test]
fn what_could_not_be_read_is_not_known() {
    let rules = [HideRule { holds: Some(Content::Token), reason: Some("token".into()), ..HideRule::named("x") }];
    let Judgement::IfHolding(tests) = judge(rules.iter(), b"x", || false) else { panic!("by content") };
    let mut known = Known::default();
    let failed = || Err(std::io::ErrorKind::PermissionDenied.into());
    assert_eq!(tests.settle_known(&mut known, failed), Some(UNREADABLE));
    assert_eq!(tests.settle_known(&mut known, || Ok(None)), None);
    assert_eq!(known, Known::default());
}
