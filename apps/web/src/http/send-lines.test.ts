import { expect, it } from '@jest/globals';
import express, { type ErrorRequestHandler } from 'express';
import request from 'supertest';
import { sendLines } from './send-lines.ts';

/** What has been made so far. */
let made: string[] = [];

async function* lines(failing_at: number): AsyncGenerator<string> {
  for (let n = 0; n < 3; n += 1) {
    if (n === failing_at) throw new Error('no database');
    made.push(`${n}\n`);
    yield await Promise.resolve(`${n}\n`);
  }
}

const refuse: ErrorRequestHandler = (_error, _request, response, _next) => {
  response.status(503).json({ error: 'away' });
};
const app = express();
app.get('/{:at}', async (asked, response) => {
  made = [];
  const file = { filename: 'log.csv', type: 'text/csv' };
  await sendLines({ request: asked, response }, file, lines(Number(asked.params.at)));
});
app.use(refuse);

it('is a file with a name, as it is made', async () => {
  const { text, headers } = await request(app).get('/9').expect(200);
  expect(text).toBe('0\n1\n2\n');
  expect(headers).toMatchObject({
    'content-disposition': 'attachment; filename=log.csv',
    'content-type': 'text/csv; charset=utf-8',
  });
});

it('nothing is made for a HEAD request', async () => {
  const { headers } = await request(app).head('/9').expect(200);
  expect(headers['content-disposition']).toBe('attachment; filename=log.csv');
  expect(made).toEqual([]);
});

it('an error before the first byte is answered, and no file', async () => {
  const { body, headers } = await request(app).get('/0').expect(503);
  expect(body).toEqual({ error: 'away' });
  expect(headers['content-disposition']).toBeUndefined();
});

it('a later one cuts the connection', async () => {
  await expect(request(app).get('/2')).rejects.toThrow(/aborted|hang up/);
});
