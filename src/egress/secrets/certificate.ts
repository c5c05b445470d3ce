/**
 * X.509 certificates (RFC 5280) of two kinds: an authority for a few names, and one server under it. Written here, since
 * Node has keys and signatures but no certificates, and what libraries bring for it is many times as much to load.
 */
import { Buffer } from "node:buffer";
import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { bits, type Der, explicit, implicit, integer, octets, oid, sequence, set, text, time, yes } from "./der.js";

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

interface Validity {
  readonly from: Date;
  readonly until: Date;
}

export interface Issuer {
  readonly name: string;
  readonly keys: KeyPair;
}

const ECDSA_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));
const DNS_NAME = 2;
const IP_ADDRESS = 7;
/** Every address of both families: such a certificate is for names only. */
const ALL_ADDRESSES = [Buffer.alloc(8), Buffer.alloc(32)];
const KEY_CERT_SIGN = bits(Buffer.from([0b0000_0100]), 2);
const DIGITAL_SIGNATURE = bits(Buffer.from([0b1000_0000]), 7);
/** The longest that a common name may be. */
const MAX_COMMON_NAME = 64;

export function authorityCertificate({ name, keys }: Issuer, hosts: readonly string[], validity: Validity): string {
  const permitted = hosts.map((host) => sequence(implicit(DNS_NAME, Buffer.from(host, "latin1"))));
  const excluded = ALL_ADDRESSES.map((range) => sequence(implicit(IP_ADDRESS, range)));
  const subject = distinguishedName(name);
  return signed({ name, keys }, subject, keys, validity, [
    extension("2.5.29.19", sequence(yes, integer(Buffer.from([0]))), "critical"),
    extension("2.5.29.15", KEY_CERT_SIGN, "critical"),
    extension("2.5.29.30", sequence(explicit(0, ...permitted), explicit(1, ...excluded)), "critical"),
    extension("2.5.29.14", octets(keyIdentifier(keys))),
  ]);
}

export function serverCertificate(issuer: Issuer, host: string, keys: KeyPair, validity: Validity): string {
  const named = host.length <= MAX_COMMON_NAME;
  return signed(issuer, named ? distinguishedName(host) : sequence(), keys, validity, [
    extension("2.5.29.19", sequence(), "critical"),
    extension("2.5.29.15", DIGITAL_SIGNATURE, "critical"),
    extension("2.5.29.37", sequence(oid("1.3.6.1.5.5.7.3.1"))),
    extension("2.5.29.17", sequence(implicit(DNS_NAME, Buffer.from(host, "latin1"))), named ? "plain" : "critical"),
    extension("2.5.29.14", octets(keyIdentifier(keys))),
    extension("2.5.29.35", sequence(implicit(0, keyIdentifier(issuer.keys)))),
  ]);
}

function signed(issuer: Issuer, subject: Der, keys: KeyPair, validity: Validity, extensions: readonly Der[]): string {
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    ECDSA_SHA256,
    distinguishedName(issuer.name),
    sequence(time(validity.from), time(validity.until)),
    subject,
    spki(keys),
    explicit(3, sequence(...extensions)),
  );
  const signature = sign("sha256", body, { key: issuer.keys.privateKey, dsaEncoding: "der" });
  return pem(sequence(body, ECDSA_SHA256, bits(signature)));
}

function extension(type: string, value: Der, weight: "critical" | "plain" = "plain"): Der {
  return sequence(oid(type), ...(weight === "critical" ? [yes] : []), octets(value));
}

function distinguishedName(commonName: string): Der {
  return sequence(set(sequence(oid("2.5.4.3"), text(commonName))));
}

/** Positive and never zero, with more random bits than anybody asks for. */
function serialNumber(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return serial;
}

const spki = ({ publicKey }: KeyPair): Buffer => publicKey.export({ type: "spki", format: "der" });

function keyIdentifier(keys: KeyPair): Buffer {
  return createHash("sha256").update(spki(keys)).digest().subarray(0, 20);
}

function pem(certificate: Der): string {
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
