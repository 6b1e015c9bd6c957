/**
 * A handwritten baseline for a fleet: Express and pg, one indexed statement per request, keys looked up once. A separate
 * process, like `bare-express`.
 */
import { createHash } from 'node:crypto';
import express from 'express';
import type { Request, Response } from 'express';
import { Pool } from 'pg';

const [url = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 10 });
const remembered = new Map<string, string>();

const KEY = `select id from workers where key_hash = $1 and status = 'approved'`;
const CLAIM = `select id, payload from remote_tasks where status = 'queued' and route = $1 order by created_at, id limit 1`;
const HEARTBEAT = `update workers set last_seen_at = now() where id = $1`;

async function callerOf({ headers }: Request): Promise<string> {
  const key = headers.authorization?.slice('Bearer '.length) ?? '';
  const hash = createHash('sha256').update(key).digest('hex');
  const known = remembered.get(hash);
  if (known !== undefined) return known;
  const { rows } = await pool.query<{ id: string }>({ name: 'key', text: KEY, values: [hash] });
  const { id } = rows[0]!;
  remembered.set(hash, id);
  return id;
}

const app = express();
app.use(express.json());

app.post('/api/workers/tasks/claim', async (request: Request, response: Response) => {
  await callerOf(request);
  const { rows } = await pool.query({ name: 'claim', text: CLAIM, values: [''] });
  if (rows[0] === undefined) response.status(204).end();
  else response.json(rows[0]);
});

app.post('/api/workers/heartbeat', async (request: Request, response: Response) => {
  await pool.query({ name: 'heartbeat', text: HEARTBEAT, values: [await callerOf(request)] });
  response.status(204).end();
});

const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : '');
});
process.once('disconnect', () => process.exit(0));
