import { describe, expect, it } from '@jest/globals';
import type { HostMessage, PluginMessage } from '@acp/contract';
import { Conversation } from './conversation.ts';

/** A conversation with a plugin that answers each message at once. */
function talkingTo(reply: (message: HostMessage) => PluginMessage): Conversation {
  const conversation: Conversation = new Conversation((message) => {
    queueMicrotask(() => conversation.answer(reply(message)));
  });
  return conversation;
}

const answering = (outcome: object) =>
  talkingTo((message) => {
    if (message.type === 'run_job')
      return { type: 'job_result', payload: { job_name: message.payload.job_name, ...outcome } };
    const { request_id } = message.payload as { request_id: string };
    return { type: 'tool_result', payload: { request_id, ...outcome } };
  });

const tool = { namespace: 'n', name: 'a', input: {} };
const tick = { job_name: 'j', scheduled_at: new Date(), config: null };

describe('the answer of a tool or a job', () => {
  it.each([[null], [undefined], [''], [{ message: '' }]])('with the error %j is a success', async (error) => {
    const conversation = answering({ result: 'done', error });
    expect(await conversation.invoke(tool, 1000)).toBe('done');
    expect(await conversation.job(tick, 1000)).toBe('done');
  });

  it.each([
    ['no', 'no'],
    [{ message: 'no', code: 'x' }, 'no'],
    [{ message: '', code: 'x' }, 'x'],
  ])('with the error %j is a failure', async (error, text) => {
    const conversation = answering({ result: null, error });
    await expect(conversation.invoke(tool, 1000)).rejects.toThrow(`the tool failed: ${text}`);
    await expect(conversation.job(tick, 1000)).rejects.toThrow(text);
  });
});

it('a health check is asked until it is answered, however late', async () => {
  const conversation = new Conversation(() => undefined);
  expect(conversation.isHealthAsked).toBe(false);
  await expect(conversation.health(1)).rejects.toThrow('did not answer');
  expect(conversation.isHealthAsked).toBe(true);
  expect(conversation.answer({ type: 'health_check', payload: {} })).toBe(false);
  expect(conversation.isHealthAsked).toBe(false);
});
