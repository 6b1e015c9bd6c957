import { secondFactorEndpoints as rows } from '@acp/contract';
import {
  addPasskey,
  beginPasskey,
  beginTotp,
  confirmTotp,
  endOtherSessions,
  endOwnSession,
  findUser,
  listSessions,
  passkeysOf,
  readSecondFactors,
  removePasskey,
  removeTotp,
  renewRecoveryCodes,
  resetSecondFactor,
  takePasskeyChallenge,
} from '@acp/core';
import { notFound } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { requireUser } from '../../http/roles.ts';
import { creationOptions, verifyCreation } from '../../passkeys/relying-party.ts';

export const secondFactorRoutes: Route[] = [
  handle(rows.read, (c) => readSecondFactors(c.tx, requireUser(c.actor).user_id)),
  handle(rows.beginTotp, (c) => beginTotp(c.tx, requireUser(c.actor), c.services.vault)),
  handle(rows.confirmTotp, async (c) => ({
    recovery_codes: await confirmTotp(c.tx, requireUser(c.actor), c.services.vault, c.body.code),
  })),
  handle(rows.removeTotp, (c) => removeTotp(c.tx, requireUser(c.actor))),
  handle(rows.renewRecoveryCodes, async (c) => ({
    recovery_codes: await renewRecoveryCodes(c.tx, requireUser(c.actor)),
  })),
  handle(rows.passkeyOptions, async (c) => {
    const actor = requireUser(c.actor);
    const user = await findUser(c.tx, actor.user_id);
    if (!user) throw notFound();
    const existing = await passkeysOf(c.tx, user.id);
    const options = await creationOptions(c.services.public_url, user, existing);
    await beginPasskey(c.tx, actor, options.challenge);
    return { ...options };
  }),
  handle(rows.addPasskey, async (c) => {
    const actor = requireUser(c.actor);
    const challenge = await takePasskeyChallenge(c.tx, actor);
    return addPasskey(c.tx, actor, await verifyCreation(c.services.public_url, c.body, challenge));
  }),
  handle(rows.removePasskey, (c) => removePasskey(c.tx, requireUser(c.actor), c.params.passkeyId!)),
  handle(rows.listSessions, (c) => listSessions(c.tx, requireUser(c.actor))),
  handle(rows.endSession, (c) => endOwnSession(c.tx, requireUser(c.actor), c.params.sessionId!)),
  handle(rows.endOtherSessions, (c) => endOtherSessions(c.tx, requireUser(c.actor))),
  handle(rows.reset, async (c) => {
    await resetSecondFactor(c.tx, c.actor, c.params.userId!);
    return { message: 'second factor removed' };
  }),
];
