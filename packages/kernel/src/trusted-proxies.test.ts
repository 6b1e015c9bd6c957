import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { clientAddress, parseTrustedProxies } from './index.ts';
import { canonicalAddress } from './trusted-proxies.ts';

const nobody = parseTrustedProxies('');
const ours = parseTrustedProxies('10.0.0.0/8, 192.168.1.7 ,2001:db8::/32');

describe('trusted proxies', () => {
  it.each([
    ['10.255.0.1', true],
    ['11.0.0.1', false],
    ['192.168.1.7', true],
    ['192.168.1.8', false],
    ['::ffff:10.0.0.1', true],
    ['2001:db8:ffff::1', true],
    ['2001:db9::1', false],
    ['2001:db8::1%eth0', true],
    ['', false],
    ['10.1', false],
    ['nonsense', false],
  ])('include %p: %p', (address, included) => expect(ours.includes(address)).toBe(included));

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0/8',
    '300.1.1.1',
    '2001:db8::/129',
    'proxy.local',
    '10.0.0.0/0x8',
    '0x0a.0.0.0/8',
    '/8',
  ])('refuse %p and name it', (entry) =>
    expect(() => parseTrustedProxies(`127.0.0.1,${entry}`)).toThrow(`"${entry}" is neither`),
  );

  it('take networks with host bits, whole families and mapped IPv4 networks', () => {
    const networks = parseTrustedProxies('10.1.2.3/8,0.0.0.0/0,::/0,::ffff:172.16.0.0/108');
    expect(networks.networks).toEqual(['10.1.2.3/8', '0.0.0.0/0', '::/0', '172.16.0.0/12']);
    expect(parseTrustedProxies('10.1.2.3/8').includes('10.9.9.9')).toBe(true);
    expect(parseTrustedProxies('::ffff:172.16.0.0/108').includes('172.31.0.1')).toBe(true);
    expect(parseTrustedProxies('::/0').includes('10.0.0.1')).toBe(false);
  });
});

describe('the client address', () => {
  it.each([
    ['an untrusted peer claims another address', '203.0.113.9', '1.2.3.4', '203.0.113.9'],
    ['one proxy passes a client on', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['the client forges entries on the left', '10.0.0.1', '1.1.1.1, 203.0.113.9', '203.0.113.9'],
    ['two proxies pass a client on', '10.0.0.1', '1.1.1.1,203.0.113.9,192.168.1.7', '203.0.113.9'],
    ['everyone on the way is trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['an entry is no address', '10.0.0.1', '203.0.113.9, unknown, 10.0.0.2', '10.0.0.2'],
    ['the header is empty', '10.0.0.1', '', '10.0.0.1'],
    ['there is no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['an entry has a port', '10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['an IPv6 entry has brackets and a port', '10.0.0.1', '[2001:db9::1]:443', '2001:db9::1'],
    ['the socket is mapped IPv4', '::ffff:10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['the socket is closed', undefined, '203.0.113.9', ''],
  ])('when %s', (_when, socket, forwarded, client) => {
    expect(clientAddress(socket, forwarded, ours)).toBe(client);
  });

  it('is the socket’s whatever is forwarded, where nobody is trusted', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.string(), (socket, header) =>
        expect(clientAddress(socket, header, nobody)).toBe(socket),
      ),
    );
  });

  it('is never moved by what stands left of the rightmost untrusted entry', () => {
    const untrusted = fc.ipV4().filter((address) => !ours.includes(address));
    fc.assert(
      fc.property(fc.string(), untrusted, (forged, client) => {
        expect(clientAddress('10.0.0.1', `${forged},${client},10.0.0.2`, ours)).toBe(client);
      }),
    );
  });

  it('has one spelling for each IPv6 address', () => {
    fc.assert(
      fc.property(
        fc.ipV6(),
        (text) => canonicalAddress(text) === canonicalAddress(canonicalAddress(text) ?? ''),
      ),
    );
    expect(canonicalAddress('2001:DB9:0:0::1')).toBe('2001:db9::1');
    expect(canonicalAddress('nonsense')).toBeNull();
  });
});
