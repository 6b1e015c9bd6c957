import { describe, expect, it } from '@jest/globals';
import type { TranscriptEntry } from '@acp/core';
import { eventFrame, transcriptFrames } from './frames.ts';

const company_id = '7b0d1c0e-6a3f-4a0e-9d0e-000000000001';
const entry = (payload: Record<string, unknown>): TranscriptEntry => ({
  topic: null,
  admins_only: false,
  private_to_user_id: null,
  run_id: '7b0d1c0e-6a3f-4a0e-9d0e-000000000002',
  company_id,
  seq: 7,
  kind: 'output',
  payload,
  created_at: new Date(0),
});
const payloads = (frames: string) =>
  [...frames.matchAll(/^data: (.+)$/gm)].map(
    ([, data]) => (JSON.parse(data!) as { data: { seq: number; payload: { text: string } } }).data,
  );

describe('frames', () => {
  it('number an event and keep its data on one line', () => {
    const frame = eventFrame({
      seq: 12,
      id: '7b0d1c0e-6a3f-4a0e-9d0e-000000000003',
      company_id,
      type: 'agent_created',
      data: { name: 'line\nbreak' },
      occurred_at: new Date(0),
    });
    expect(frame).toMatch(/^id: 12\nevent: agent_updated\ndata: \{.*\}\n\n$/);
  });

  it('leave out an event that is for plugins only', () => {
    const event = { seq: 12, id: company_id, company_id, data: {}, occurred_at: new Date(0) };
    expect(eventFrame({ ...event, type: 'routine_fired' })).toBeNull();
  });

  it.each(['😀', 'é', 'a', 'ab😀'])(
    'split a long text of %s at 16 KB, between characters, without an id',
    (piece) => {
      const text = piece.repeat(40_000);
      const frames = transcriptFrames(entry({ text }));
      expect(frames).not.toMatch(/^id:/m);
      const parts = payloads(frames);
      expect(parts.length).toBeGreaterThan(2);
      expect(parts.map(({ payload }) => payload.text).join('')).toBe(text);
      expect(parts.every(({ seq, payload }) => seq === 7 && Buffer.byteLength(payload.text) <= 16_384)).toBe(
        true,
      );
      expect(frames).not.toMatch(/\\ud[89a-f]/i);
    },
  );

  it('leave a short payload as it is', () => {
    expect(payloads(transcriptFrames(entry({ text: 'hello', turn: 1 })))).toEqual([
      { run_id: entry({}).run_id, seq: 7, kind: 'output', payload: { text: 'hello', turn: 1 } },
    ]);
  });
});
