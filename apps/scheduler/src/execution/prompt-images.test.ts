import { expect, it } from '@jest/globals';
import { loadConfig } from '@acp/kernel';
import { openStorage } from '@acp/storage';
import { startHostileServer } from '@acp/testkit';
import { openMessages } from './prompt-images.ts';

it('an image of which a store has more than was stored is not read: the run fails, and the process does not', async () => {
  const server = await startHostileServer();
  let sent = 0;
  server.answer((response) => {
    response.writeHead(200, { 'content-length': 10 * 1024 ** 3 });
    const write = (): boolean | void => {
      if (!response.destroyed) response.write(Buffer.alloc(1024 ** 2, 'x'), write);
      sent += 1;
    };
    write();
  });
  const storage = await openStorage(
    loadConfig({
      SERVICE_STORAGE: 's3',
      SERVICE_S3_BUCKET: 'files',
      SERVICE_S3_ENDPOINT: server.url,
      SERVICE_S3_ACCESS_KEY_ID: 'key',
      SERVICE_S3_SECRET_ACCESS_KEY: 'secret',
      SERVICE_S3_FORCE_PATH_STYLE: 'true',
    }),
  );
  const images = [{ filename: 'chart.png', storage_key: 'attachments/a/b', size_bytes: 3_000_000 }];
  const prompt = { system_prompt: '', user_message: 'Look.', images };
  await expect(openMessages(storage, prompt, AbortSignal.timeout(30_000))).rejects.toMatchObject({
    kind: 'unavailable',
  });
  expect(server.asked[0]?.headers.range).toBe('bytes=0-2999999');
  expect(sent).toBeLessThan(100);
  storage.close();
  server.close();
});
