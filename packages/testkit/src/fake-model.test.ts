import { expect, it } from '@jest/globals';
import { startFakeModel, waitFor } from './index.ts';

it.each([
  ['an answer', { text: 'late', delay_ms: 600_000 }],
  ['the next piece', { chunks: ['early', 'late'], chunk_delay_ms: 600_000 }],
])('a model that is closed while %s is due keeps no process alive', async (_, reply) => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const model = await startFakeModel({ script: () => reply });
  const asked = fetch(`${model.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', stream: true, messages: [] }),
  }).then((answer) => answer.text());
  await waitFor(() => timers() > before);
  await model.close();
  await expect(asked).rejects.toThrow(/fetch failed|terminated/);
  await waitFor(() => timers() <= before, { timeout_ms: 5000 });
});
