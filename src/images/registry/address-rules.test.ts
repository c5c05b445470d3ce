import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAllowedAddress, isLoopbackHost, isPublicAddress } from "./address-rules.js";

describe("an address", () => {
  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:10.0.0.1",
    "::ffff:7f00:1",
    "::127.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b::a00:1",
    "fe80::1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "fc00::1",
    "ff02::1",
    "2002:7f00:1::",
    "2001::1",
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "fec0::1",
    "not an address",
    "",
  ])("%s is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
    expect(isAllowedAddress(address, "outside")).toBe(false);
    expect(isAllowedAddress(address, "any")).toBe(true);
  });

  it.each(["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "3ffe::1"])(
    "%s is public",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
      expect(isAllowedAddress(address, "here")).toBe(false);
    },
  );

  it("on loopback is allowed where loopback is", () => {
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
      expect(isAllowedAddress(address, "here")).toBe(true);
      expect(isAllowedAddress(address, "here-or-outside")).toBe(true);
    }
    expect(isAllowedAddress("10.0.0.1", "here-or-outside")).toBe(false);
  });

  it("of a private network is allowed by the rule for those, and nothing else that is not public", () => {
    const own = ["10.1.2.3", "172.16.0.1", "192.168.1.1", "fd12:3456::1", "::ffff:10.0.0.1"];
    expect(own.filter((address) => !isAllowedAddress(address, "private-or-outside"))).toEqual([]);
    const never = ["127.0.0.1", "::1", "169.254.169.254", "fe80::1", "fd00:ec2::254", "168.63.129.16", "0.0.0.0"];
    expect(never.filter((address) => isAllowedAddress(address, "private-or-outside"))).toEqual([]);
  });

  it("is judged the same in its mapped form", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isPublicAddress(`::ffff:${address}`)).toBe(isPublicAddress(address));
      }),
    );
  });

  it("of any IPv6 form is judged without failing", () => {
    fc.assert(fc.property(fc.ipV6(), (address) => typeof isPublicAddress(address) === "boolean"));
  });
});

it("a host is on loopback by its name only where that name can mean nothing else", () => {
  const here = ["localhost", "a.localhost", "127.0.0.1", "[::1]"];
  const elsewhere = ["localhost.example.com", "127.0.0.1.example.com", "[::2]", "example.com", ""];
  expect(here.filter((host) => !isLoopbackHost(host))).toEqual([]);
  expect(elsewhere.filter(isLoopbackHost)).toEqual([]);
});
