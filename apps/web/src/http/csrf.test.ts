import { describe, it } from '@jest/globals';
import { createLogger, parseTrustedProxies } from '@acp/kernel';
import express from 'express';
import request from 'supertest';
import { csrfGuard, refuseCrossSite } from './csrf.ts';
import { errorHandler } from './errors.ts';

function guardedApp(trusted = '') {
  const rule = { public_url: 'https://acp.example', trusted_proxies: parseTrustedProxies(trusted) };
  const app = express();
  app.use(csrfGuard(rule));
  app.post('/login', (incoming, _response, next) => {
    refuseCrossSite(incoming, rule);
    next();
  });
  app.use((_request, response) => void response.json({}));
  app.use(errorHandler(createLogger({ level: 'error', format: 'json', role: 'test' })));
  return app;
}

const cookie = 'service_session=abc';

describe('a mutating request with a session cookie', () => {
  it.each([
    ['same-origin', 200],
    ['none', 200],
    ['same-site', 403],
    ['cross-site', 403],
  ])('says Sec-Fetch-Site: %s: %i', async (site, status) => {
    await request(guardedApp()).post('/').set({ Cookie: cookie, 'Sec-Fetch-Site': site }).expect(status);
  });

  it.each([
    ['https://acp.example', 200],
    ['http://service.test:3100', 200],
    ['https://service.test:3100', 200],
    ['http://service.test', 403],
    ['https://evil.example', 403],
    ['null', 403],
    ['service.test:3100', 403],
  ])('has no Sec-Fetch-Site and the origin %s: %i', async (origin, status) => {
    const headers = { Cookie: cookie, Host: 'service.test:3100', Origin: origin };
    const body = status === 200 ? {} : { error: 'cross-site request refused' };
    await request(guardedApp()).post('/').set(headers).expect(status, body);
  });

  it('comes by a trusted proxy: the forwarded host counts', async () => {
    const headers = { Cookie: cookie, Origin: 'https://front.example', 'X-Forwarded-Host': 'front.example' };
    await request(guardedApp('127.0.0.1')).post('/').set(headers).expect(200);
    await request(guardedApp()).post('/').set(headers).expect(403);
  });

  it('comes from a script without such headers: passes', async () => {
    await request(guardedApp()).post('/').set('Cookie', cookie).expect(200);
  });

  it('carries a key cookie instead: the same rule', async () => {
    const headers = { Cookie: 'service_key=sk_1', 'Sec-Fetch-Site': 'cross-site' };
    await request(guardedApp()).delete('/').set(headers).expect(403);
  });
});

describe('other requests', () => {
  it('a read comes from another site: passes', async () => {
    await request(guardedApp()).get('/').set({ Cookie: cookie, 'Sec-Fetch-Site': 'cross-site' }).expect(200);
  });

  it('a bearer request without cookie comes from another site: passes', async () => {
    await request(guardedApp()).post('/').set('Sec-Fetch-Site', 'cross-site').expect(200);
  });

  it('a login without cookie comes from another site: refused all the same', async () => {
    await request(guardedApp()).post('/login').set('Sec-Fetch-Site', 'cross-site').expect(403);
  });
});
