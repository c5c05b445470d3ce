//! What of the host's /etc a sandbox may see: what everybody on the machine may read, without what this list names, and
//! without files whose content is a secret.

use std::os::fd::BorrowedFd;

use ak_secrets::{Content, HideRule, Judgement, Sample, judge};

/// Relative to /etc; a `*` at the end stands for anything. Lists are by what they are about.
const LEFT_OUT: [&[&str]; 7] = [
    // Written for each sandbox, or made of the host's without its people.
    &["agentkernel", "group*", "gshadow*", "hostname", "hosts", "nsswitch.conf", "passwd*", "resolv.conf*", "shadow*"],
    &["shells", "subgid*", "subuid*", ".pwd.lock", "aliases*"],
    // Which machine it is, and what is attached to it.
    &[
        "adjtime",
        "crypttab*",
        "exports*",
        "fstab*",
        "hostid",
        "iscsi",
        "lvm",
        "machine-id",
        "machine-info",
        "mdadm*",
        "multipath*",
        "nvme",
        "ssh/ssh_host_*",
        "ssh/sshd_config*",
        "target",
    ],
    // Its network.
    &[
        "NetworkManager",
        "auto.*",
        "autofs*",
        "bluetooth",
        "chatscripts",
        "connman",
        "dhclient*",
        "dhcp*",
        "ethers",
        "firewalld",
        "hosts.*",
        "idmapd.conf",
        "ipsec*",
        "iptables",
        "iwd",
        "netplan",
        "network",
        "nfs*",
        "nftables*",
        "openvpn",
        "ppp",
        "resolvconf",
        "samba",
        "sssd",
        "strongswan*",
        "swanctl",
        "tailscale*",
        "ufw",
        "wireguard",
        "wpa_supplicant",
    ],
    // Its boot and its services, and where these keep credentials.
    &[
        "acme*",
        "amazon",
        "ansible",
        "apache2",
        "apparmor*",
        "asterisk",
        "audit*",
        "aws",
        "azure",
        "bind",
        "boto*",
        "chef",
        "cloud",
        "cni",
        "consul*",
        "containerd",
        "containers",
        "crio",
        "cron*",
        "anacrontab",
        "cups",
        "datadog*",
        "docker",
        "doas.conf",
        "dovecot",
        "exim4",
        "gitlab*",
        "google*",
        "grafana",
        "grub*",
        "haproxy",
        "httpd",
        "influxdb",
        "init.d",
        "inittab",
        "ipa",
        "jenkins*",
        "kernel",
        "krb5.keytab*",
        "kubernetes",
        "ldap",
        "letsencrypt",
        "lighttpd",
        "logrotate*",
        "mail*",
        "modprobe.d",
        "modules*",
        "mongod*",
        "msmtprc*",
        "my.cnf*",
        "mysql",
        "nginx",
        "nomad*",
        "nslcd*",
        "openldap",
        "polkit-1",
        "postfix",
        "postgresql*",
        "prometheus",
        "puppet*",
        "rabbitmq",
        "rancher",
        "rc*.d",
        "rclone*",
        "redis*",
        "restic*",
        "rsyslog*",
        "salt",
        "security/opasswd",
        "selinux",
        "sensors*",
        "squid",
        "sudoers*",
        "sysctl*",
        "systemd",
        "telegraf",
        "teleport*",
        "tmpfiles.d",
        "tor",
        "udev",
        "unbound",
        "vault*",
        "waagent*",
        "zabbix*",
    ],
    // Keys, logins and addresses of registries.
    &[
        "apt/auth.conf*",
        "apt/sources.list*",
        "chromium.d/apikeys",
        "curlrc",
        "davfs2",
        "default/grub*",
        "environment*",
        "gitconfig",
        "maven/settings*",
        "netrc*",
        "npmrc",
        "odbc*",
        "pip.conf",
        "pki/nssdb",
        "pki/tls/private",
        "ssl/private",
        "wgetrc",
        "yum*",
    ],
    // What shells read when they start: it would replace the PATH and the prompt that a sandbox gives.
    &["bash.bashrc", "bashrc", "csh*", "fish", "profile*", "zsh*"],
];

pub fn is_left_out(path: &[u8]) -> bool {
    let matches = |pattern: &str| match pattern.split_once('*') {
        None => path == pattern.as_bytes(),
        Some((before, after)) => {
            let rest = path.strip_prefix(before.as_bytes());
            rest.is_some_and(|rest| !rest.contains(&b'/') && rest.ends_with(after.as_bytes()))
        }
    };
    LEFT_OUT.iter().any(|names| names.iter().any(|name| matches(name)))
}

/// Examples that every machine has, with values that only look like passwords.
const EXAMPLES: [&[u8]; 2] = [b"pki/tls/openssl.cnf", b"ssl/openssl.cnf"];

/// Whether the content of a file is a secret, as it is decided for files of a project. What cannot be read counts as one.
pub fn is_secret(path: &[u8], file: BorrowedFd<'_>) -> bool {
    let tests = [Content::Token, Content::Remote, Content::Credential];
    let tests = if EXAMPLES.contains(&path) { &tests[..1] } else { &tests[..] };
    let rules: Vec<HideRule> = tests
        .iter()
        .map(|content| HideRule {
            glob: String::new(),
            holds: Some(*content),
            reason: Some(String::new()),
            shows: false,
        })
        .collect();
    match judge(rules.iter(), path, || false) {
        Judgement::IfHolding(tests) => tests.settle(Sample::of(file)).is_some(),
        Judgement::Hidden(_) => true,
        Judgement::Visible => false,
    }
}

/// Of this list: another one may choose otherwise.
pub fn digest() -> u64 {
    let bytes = LEFT_OUT.iter().flat_map(|names| names.iter()).flat_map(|name| name.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_one_entry_and_all_below_it() {
        for path in ["machine-id", "shadow-", "rc3.d", "ssh/ssh_host_rsa_key.pub", "maven/settings.xml", "yum.repos.d"]
        {
            assert!(is_left_out(path.as_bytes()), "{path}");
        }
        for path in ["ssh/ssh_config", "pam.d", "rc.local", "mime.types", "maven/m2.conf", "x/machine-id", "fstab.d/x"]
        {
            assert!(!is_left_out(path.as_bytes()), "{path}");
        }
    }
}
