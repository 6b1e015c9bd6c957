import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { drippingAnswers, hostileAnswers, type HostileServer, startHostileServer } from '@acp/testkit';
import { type Answer, createGuardedFetch, exchange } from './index.ts';

const MOST = 100_000;

let server: HostileServer;
const send = createGuardedFetch({ egress: 'any' });
const asking = async (
  headers: Record<string, string> = {},
  { time_ms = 60_000, secrets = [] as string[], signal = new AbortController().signal } = {},
): Promise<Answer> => exchange(send, server.url, { headers }, { signal, time_ms, most_bytes: MOST, secrets });

beforeAll(async () => {
  server = await startHostileServer();
});
beforeEach(() => {
  server.asked.length = 0;
});
afterAll(() => server.close());

describe('an answer', () => {
  it.each(Object.entries(hostileAnswers))(
    'that is %s is refused, and asked for once',
    async (_what, answer) => {
      server.answer(answer);
      const outcome = await (async () => {
        const read = await asking();
        return read.ok ? read.json() : 'no success';
      })().catch((error: unknown) => error);
      expect(outcome instanceof Error ? outcome.name : outcome).toMatch(/^(ExchangeFailure|no success)$/);
      expect(server.asked).toHaveLength(1);
    },
  );

  it.each(Object.entries(drippingAnswers))('that sends %s is given up in time', async (_what, answer) => {
    server.answer(answer);
    await expect(asking({}, { time_ms: 400 })).rejects.toMatchObject({
      kind: 'late',
      message: 'no answer in 0.4 s',
    });
  });

  it('is given up when its caller gives up, for the caller’s reason', async () => {
    server.answer(drippingAnswers['its body byte by byte']);
    const caller = new AbortController();
    const asked = asking({}, { signal: caller.signal });
    caller.abort(new Error('called off'));
    await expect(asked).rejects.toThrow('called off');
  });

  it('has nothing that can’t be stored, and no property of every object', async () => {
    const body = String.raw`{"a\u0000b": "c\u0000\ud800", "big": 1e400, "__proto__": {"admin": true}, "n": 1.5}`;
    server.answer((response) => void response.end(body));
    const read = (await asking()).json();
    expect(JSON.stringify(read)).toBe('{"ab":"c\ufffd","big":null,"__proto__":{"admin":true},"n":1.5}');
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  });

  it('that is not UTF-8 is text all the same', async () => {
    const bytes = Buffer.from([0x7b, 0xff, 0x00, 0xed, 0xa0, 0x80]);
    server.answer((response) => void response.end(bytes));
    const answer = await asking();
    expect(answer.text).toBe('{\ufffd\ufffd\ufffd\ufffd');
    expect(() => answer.json()).toThrow('its answer is not JSON');
  });
});

describe('a secret', () => {
  const token = 'sk-0123/456789';
  const login = Buffer.from('somebody:a long password').toString('base64');

  it.each([
    ['a bearer’s token', { authorization: `Bearer ${token}` }, [token, `Bearer ${token}`]],
    ['a token of its own header', { 'private-token': token }, [token, token.replace('/', String.raw`\/`)]],
    ['a login', { authorization: `Basic ${login}` }, [login, 'somebody:a long password', 'a long password']],
  ])('that is %s is in no answer, however it is repeated', async (_what, headers, echoes) => {
    for (const echo of echoes) {
      server.answer((response) => void response.writeHead(401).end(`{"message": "wrong: ${echo}"}`));
      const answer = await asking(headers);
      expect(answer.json()).toEqual({ message: 'wrong: [redacted]' });
    }
    server.answer((response) => void response.end(`no JSON: ${echoes[0]}`));
    expect((await asking(headers)).text).toBe('no JSON: [redacted]');
  });

  it('of a URL is in no answer either', async () => {
    server.answer((response) => void response.end(`{"${token}": 1}`));
    expect((await asking({}, { secrets: [token] })).json()).toEqual({ '[redacted]': 1 });
  });

  it('is in no failure', async () => {
    server.answer((response) => void response.destroy());
    const failure = await asking({ authorization: `Bearer ${token}` }, { secrets: [token] }).catch(
      (error: unknown) => error,
    );
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain(token);
    await expect(
      exchange(
        send,
        `http://x y/${token}`,
        {},
        { signal: AbortSignal.timeout(9000), time_ms: 9000, most_bytes: 1 },
      ),
    ).rejects.toMatchObject({ message: 'the connection failed: ERR_INVALID_URL' });
  });

  it('goes nowhere else', async () => {
    const elsewhere = await startHostileServer();
    server.answer((response) => void response.writeHead(307, { location: elsewhere.url }).end());
    expect((await asking({ authorization: `Bearer ${token}` })).status).toBe(307);
    expect(elsewhere.asked).toEqual([]);
    elsewhere.close();
  });
});
