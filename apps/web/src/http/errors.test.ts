import { expect, it } from '@jest/globals';
import { pathOf } from './errors.ts';

it('a path in a log holds nothing that opens or fires anything', () => {
  expect(pathOf('/api/live/events?Authorization=Bearer+sk_1')).toBe('/api/live/events');
  expect(pathOf('/invites/token')).toBe('/invites/…');
  expect(pathOf('/api/invites/token/accept')).toBe('/api/invites/…/accept');
  expect(pathOf('/api/routine-triggers/public/address/fire?x')).toBe('/api/routine-triggers/public/…/fire');
  expect(pathOf('/api/routine-triggers/id/rotate-url')).toBe('/api/routine-triggers/id/rotate-url');
});
