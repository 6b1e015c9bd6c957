import { describe, expect, it } from '@jest/globals';
import { HostList, readHostRule, writeHostRule } from './index.ts';

describe('a line of a list of hosts', () => {
  it.each([
    ['Example.COM', 'example.com'],
    ['example.com.', 'example.com'],
    ['example.com:443', 'example.com'],
    ['example.com:80', 'example.com:80'],
    ['example.com:*', 'example.com:*'],
    ['*.Example.com', '*.example.com'],
    ['*.example.com:8443', '*.example.com:8443'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['[2001:DB8::1]:8443', '[2001:db8::1]:8443'],
    ['0x7f.1', '127.0.0.1'],
    ['10.0.0.7:5432', '10.0.0.7:5432'],
  ])('%s is kept as %s', (text, kept) => {
    expect(writeHostRule(readHostRule(text)!)).toBe(kept);
  });

  it.each([
    '',
    '*',
    '*.',
    '*:443',
    'a b',
    'https://example.com',
    'example.com/path',
    'user@example.com',
    'exa*mple.com',
    '*.*.example.com',
    'example.com:0',
    'example.com:65536',
    'example.com:http',
    '*.10.0.0.1',
    '2001:db8::1',
    '.example.com:',
  ])('%s is none', (text) => {
    expect(readHostRule(text)).toBeUndefined();
  });
});

describe('a list of hosts', () => {
  const list = HostList.of([
    'example.com',
    '*.npm.example',
    'git.example:22',
    'any.example:*',
    '[2001:db8::1]',
  ]);

  it.each([
    ['example.com', 443],
    ['EXAMPLE.com.', 443],
    ['registry.npm.example', 443],
    ['a.b.npm.example', 443],
    ['git.example', 22],
    ['any.example', 8080],
    ['2001:db8:0::1', 443],
    ['[2001:db8::1]', 443],
  ])('covers %s:%i', (host, port) => {
    expect(list.covers(host, port)).toBe(true);
  });

  it.each([
    ['example.com', 80],
    ['www.example.com', 443],
    ['notexample.com', 443],
    ['example.com.evil.test', 443],
    ['npm.example', 443],
    ['evilnpm.example', 443],
    ['git.example', 443],
    ['example.com@evil.test', 443],
    ['evil.test/example.com', 443],
    ['evil.test#.npm.example', 443],
    ['evil.test%2f.npm.example', 443],
    ['evil.test\\.npm.example', 443],
    ['', 443],
  ])('does not cover %s:%i', (host, port) => {
    expect(list.covers(host, port)).toBe(false);
  });

  it('takes the port of a URL by its scheme', () => {
    expect(list.coversUrl(new URL('https://example.com/x'))).toBe(true);
    expect(list.coversUrl(new URL('http://example.com/x'))).toBe(false);
  });
});
