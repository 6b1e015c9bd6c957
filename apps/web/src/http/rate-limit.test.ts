import { describe, expect, it } from '@jest/globals';
import { parseTrustedProxies } from '@acp/kernel';
import express from 'express';
import request from 'supertest';
import { errorHandler } from './errors.ts';
import { ClientWindows, isUncounted, rateLimiter } from './rate-limit.ts';
import { createLogger } from '@acp/kernel';

function limitedApp(limit: number, trusted = '') {
  const app = express();
  const config = { rate_limit_rpm: limit, trusted_proxies: parseTrustedProxies(trusted) };
  const limiter = rateLimiter(config, isUncounted);
  if (limiter) app.use(limiter);
  app.use((_request, response) => void response.json({}));
  app.use(errorHandler(createLogger({ level: 'error', format: 'json', role: 'test' })));
  return app;
}

describe('the rate limit', () => {
  it('a client goes over it: 429 with an error and the seconds to wait', async () => {
    const app = limitedApp(2);
    await request(app).get('/').expect(200);
    await request(app).get('/').expect(200);
    const refused = await request(app).get('/').expect(429);
    expect(refused.body).toEqual({ error: 'rate limit exceeded' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
  });

  it('static files are fetched: they do not count', async () => {
    const app = limitedApp(1);
    for (let count = 0; count < 3; count += 1) await request(app).get('/static/app.css').expect(200);
    await request(app).get('/').expect(200);
  });

  it('the limit is 0: switched off', () => {
    expect(rateLimiter({ rate_limit_rpm: 0, trusted_proxies: parseTrustedProxies('') })).toBeUndefined();
  });

  it('a busy client is at the address of the probes: they are counted apart', async () => {
    const app = limitedApp(2);
    for (const status of [200, 200, 429]) await request(app).get('/api/agents').expect(status);
    for (const path of ['/healthz/live', '/metrics']) await request(app).get(path).expect(200);
    await request(app).get('/healthz/ready').expect(429);
  });

  it('a trusted proxy passes on several clients: each has its own budget', async () => {
    const app = limitedApp(1, '127.0.0.1');
    await request(app).get('/').set('X-Forwarded-For', '203.0.113.1').expect(200);
    await request(app).get('/').set('X-Forwarded-For', '203.0.113.2').expect(200);
    await request(app).get('/').set('X-Forwarded-For', '203.0.113.1').expect(429);
  });

  it('an untrusted client writes another X-Forwarded-For each time: it counts as one', async () => {
    const app = limitedApp(1);
    await request(app).get('/').set('X-Forwarded-For', '203.0.113.1').expect(200);
    await request(app).get('/').set('X-Forwarded-For', '203.0.113.2').expect(429);
  });

  it('an IPv6 client changes its address within its /64: it counts as one', async () => {
    const app = limitedApp(1, '127.0.0.1');
    await request(app).get('/').set('X-Forwarded-For', '2001:db8:1:2::1').expect(200);
    await request(app).get('/').set('X-Forwarded-For', '2001:db8:1:2:ffff::9').expect(429);
    await request(app).get('/').set('X-Forwarded-For', '2001:db8:1:3::1').expect(200);
  });

  it('more clients come than are remembered: the oldest go', () => {
    const windows = new ClientWindows(100);
    for (let client = 0; client < 1000; client += 1) windows.increment(`client ${client}`);
    expect(windows.size).toBe(100);
    expect(windows.increment('client 999').totalHits).toBe(2);
  });
});
