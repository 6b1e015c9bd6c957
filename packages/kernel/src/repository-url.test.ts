import { describe, expect, it } from '@jest/globals';
import { parseRepositoryUrl } from './repository-url.ts';

describe('the URL of a repository', () => {
  it.each([
    ['https://Git.Example.com/harbour/shop.git', 'https://git.example.com/harbour/shop.git', 443],
    ['https://git.example.com:8443/shop/', 'https://git.example.com:8443/shop', 8443],
    ['http://127.0.0.1:3000/shop.git', 'http://127.0.0.1:3000/shop.git', 3000],
    ['git@git.example.com:harbour/shop.git', 'ssh://git@git.example.com/harbour/shop.git', 22],
    ['ssh://git@[2001:db8::1]:2222/shop.git', 'ssh://git@[2001:db8::1]:2222/shop.git', 2222],
  ])('%s is one, in one spelling', (text, url, port) => {
    expect(parseRepositoryUrl(text)).toMatchObject({ url, port });
  });

  it.each([
    'file:///etc/passwd',
    '/srv/git/shop.git',
    '../shop.git',
    'ext::sh -c id',
    'ext::id',
    '--upload-pack=id',
    '-oProxyCommand=id@host:path',
    'ssh://-oProxyCommand=id/shop',
    'git@-oProxyCommand=id:shop',
    'git@host:-option',
    'ssh://-l@host/shop',
    'https://user:password@git.example.com/shop.git',
    'https://token@git.example.com/shop.git',
    'https://git.example.com/shop.git?token=x',
    'https://git.example.com/a/%20/../b c',
    'git://git.example.com/shop.git',
    'https://git.example.com/',
    'git@host:a/../../b',
    'git@ho\nst:a',
    'https://',
  ])('%s is none', (text) => {
    expect(parseRepositoryUrl(text)).toBeUndefined();
  });
});
