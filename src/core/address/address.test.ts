import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseHost } from "../../egress/host.js";
import { parseAddress } from "./address.js";
import { whyNotPublic } from "./non-public.js";
import { contains, embeddedIpv4, parseRange } from "./range.js";

const canonical = (text: string): string => {
  const host = parseHost(text);
  return host.kind === "address" ? host.address.text : `${host.kind}`;
};

describe("every spelling of an address is one address", () => {
  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.1", "127.0.0.1"],
    ["127.0.1", "127.0.0.1"],
    ["2130706433", "127.0.0.1"],
    ["0x7f000001", "127.0.0.1"],
    ["0X7F.1", "127.0.0.1"],
    ["0x7f.0x0.0x0.0x1", "127.0.0.1"],
    ["017700000001", "127.0.0.1"],
    ["0177.0.0.1", "127.0.0.1"],
    ["0177.0x0.0.1", "127.0.0.1"],
    ["127.0.0.1.", "127.0.0.1"],
    ["１２７.０.０.１", "127.0.0.1"],
    ["127。0。0。1", "127.0.0.1"],
    ["0", "0.0.0.0"],
    ["0x", "0.0.0.0"],
    ["169.254.43518", "169.254.169.254"],
    ["2852039166", "169.254.169.254"],
    ["::ffff:127.0.0.1", "127.0.0.1"],
    ["::FFFF:7f00:1", "127.0.0.1"],
    ["0:0:0:0:0:ffff:7f00:0001", "127.0.0.1"],
    ["::1", "::1"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["FD00:EC2::254", "fd00:ec2::254"],
    ["64:ff9b::169.254.169.254", "64:ff9b::a9fe:a9fe"],
  ])("%s", (text, expected) => expect(canonical(text)).toBe(expected));

  it.each([
    "256.1.1.1",
    "1.2.3.4.5",
    "1.2.3.256",
    "1.16777216",
    "4294967296",
    "09.1.1.1",
    "127.0.0.0x100",
    "a.b.1",
    "1..1",
    "fe80::1%eth0",
    "[::1]",
    "::1]",
    ":::1",
    "1:2:3",
    "::ffff:1.2.3.256",
  ])("%s is none", (text) => expect(canonical(text)).toBe("invalid"));

  it("read back from its text is the same", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const address = parseAddress(text);
        return address === null || parseAddress(address.text)?.bits === address.bits;
      }),
    );
  });

  it("in octal, decimal, hexadecimal and short form is the same", () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), (bits) => {
        const plain = parseAddress([bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255].join("."))?.text;
        const forms = [
          `${bits}`,
          `0x${bits.toString(16)}`,
          `0${bits.toString(8)}`,
          `${bits >>> 24}.${bits & 0xff_ffff}`,
        ];
        expect(forms.map(canonical)).toEqual(forms.map(() => plain));
      }),
    );
  });
});

describe("an address that is not public", () => {
  it.each([
    ["0.0.0.0", "unspecified"],
    ["10.255.255.255", "private network"],
    ["100.64.0.1", "carrier-grade NAT"],
    ["100.100.100.200", "cloud metadata"],
    ["127.255.255.254", "loopback"],
    ["168.63.129.16", "cloud metadata"],
    ["169.254.169.254", "cloud metadata"],
    ["169.254.0.1", "link-local"],
    ["172.16.0.1", "private network"],
    ["172.31.255.255", "private network"],
    ["192.0.0.1", "protocol assignments"],
    ["192.0.2.1", "documentation"],
    ["192.88.99.1", "6to4 relays"],
    ["192.168.0.1", "private network"],
    ["198.18.0.1", "benchmarking"],
    ["198.51.100.1", "documentation"],
    ["203.0.113.1", "documentation"],
    ["224.0.0.1", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "broadcast"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["::127.0.0.1", "loopback (127.0.0.1 inside an IPv6 address)"],
    ["::8.8.8.8", "not a global unicast address"],
    ["::ffff:0:10.0.0.1", "private network (10.0.0.1 inside an IPv6 address)"],
    ["64:ff9b::10.0.0.1", "private network (10.0.0.1 inside an IPv6 address)"],
    ["64:ff9b:1::8.8.8.8", "not a global unicast address"],
    ["2002:7f00:1::", "6to4"],
    ["2002:808:808::", "6to4"],
    ["2001::1", "Teredo"],
    ["2001:db8::1", "documentation"],
    ["3fff::1", "documentation"],
    ["2600::200:5efe:10.0.0.1", "private network (10.0.0.1 inside an IPv6 address)"],
    ["2600::5efe:127.0.0.1", "loopback (127.0.0.1 inside an IPv6 address)"],
    ["fe80::1", "link-local"],
    ["fec0::1", "site-local"],
    ["fc00::1", "unique local"],
    ["fd00:ec2::254", "cloud metadata"],
    ["ff02::1", "multicast"],
    ["100::1", "not a global unicast address"],
    ["4000::1", "not a global unicast address"],
  ])("%s: %s", (text, why) => {
    const address = parseAddress(text);
    expect(address === null ? "no address" : whyNotPublic(address)).toBe(why);
  });

  it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "223.255.255.255", "2606:4700::1111", "64:ff9b::8.8.8.8"])(
    "%s is public",
    (text) => {
      const address = parseAddress(text);
      expect(address === null ? "no address" : whyNotPublic(address)).toBeNull();
    },
  );
});

describe("a range", () => {
  const holds = (range: string, text: string) => {
    const parsed = parseRange(range);
    const address = parseAddress(text);
    return parsed !== null && address !== null && contains(parsed, address);
  };

  it("holds what its prefix says", () => {
    expect(holds("10.1.0.0/16", "10.1.255.255")).toBe(true);
    expect(holds("10.1.0.0/16", "10.2.0.0")).toBe(false);
    expect(holds("0.0.0.0/0", "8.8.8.8")).toBe(true);
    expect(holds("0.0.0.0/0", "::1")).toBe(false);
    expect(holds("fd00::/8", "fdff::1")).toBe(true);
    expect(holds("::ffff:10.0.0.0/104", "10.9.9.9")).toBe(true);
    expect(parseRange("::ffff:10.0.0.0/64")).toBeNull();
  });

  it("of one address holds that address and no other", () => {
    fc.assert(
      fc.property(
        fc.ipV4(),
        fc.ipV4(),
        (a, b) => holds(`${a}/32`, b) === (parseAddress(a)?.bits === parseAddress(b)?.bits),
      ),
    );
  });

  it("finds both IPv4 addresses that Teredo carries", () => {
    const teredo = parseAddress("2001:0:4136:e378:8000:63bf:3fff:fdd2");
    const inner = teredo === null ? [] : embeddedIpv4(teredo).map((address) => address.text);
    expect(inner).toEqual(["65.54.227.120", "192.0.2.45"]);
  });
});
