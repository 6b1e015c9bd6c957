import { expect, it } from '@jest/globals';
import { eventToIncoming } from './slack-payloads.ts';

const said = (text: string) => {
  const event = { type: 'message', user: 'U1', channel: 'D1', channel_type: 'im', ts: '1.2', text };
  return eventToIncoming({ event_id: 'E1', event }, 'UBOT')?.text;
};

it('markup of Slack becomes what the person wrote', () => {
  expect(said('<@UBOT> see <https://a.example|the plan>, <https://b.example>, <@U2|ada> &lt;now&gt;')).toBe(
    'see [the plan](https://a.example), https://b.example, @ada <now>',
  );
});

it.each(['<@', '<@a|', '<http://a', '<http://a|'])(
  'markup that repeats %j and never ends is read in linear time',
  (part) => {
    expect(said(part.repeat(200_000))).toHaveLength(200_000 * part.length);
  },
);
