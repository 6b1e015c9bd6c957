/** The second step of a sign-in, by a code or a passkey; and the sign-in by a passkey alone. */
import { createValidator, PasskeyResponse, SecondFactorCode } from '@acp/contract';
import {
  acceptCarriedInvite,
  actorOf,
  askPasskey,
  clearSecondFactor,
  completeByCode,
  completeStep,
  type Entry,
  findPasskey,
  findSignInStep,
  findUser,
  notePasskeyUse,
  openSignInStep,
  passkeysOf,
  readSecondFactors,
  recordSecurityEvents,
  reserveSecondFactor,
  type SignInPlace,
  type SignInStep,
  takeStepChallenge,
  type UserRow,
} from '@acp/core';
import { type Database, transaction, type Tx } from '@acp/db';
import { type Config, forbidden, unauthenticated, Vault } from '@acp/kernel';
import express, { type Request, type Response, Router } from 'express';
import { callerPlace } from '../http/caller-place.ts';
import { readCookie, SIGN_IN_COOKIE } from '../http/cookies.ts';
import { refuseCrossSite } from '../http/csrf.ts';
import { requestOptions, verifyRequest } from '../passkeys/relying-party.ts';
import { answerPage } from './answer-page.ts';
import { setSignInCookie, ownPath, SECOND_FACTOR_PAGE, stepCookie } from './sign-in-cookie.ts';
import { secondStepPage } from './second-step-page.ts';

interface SecondStepDependencies {
  config: Config;
  database: Database;
}

const codeForm = createValidator(SecondFactorCode, 'body');
const passkeyAnswer = createValidator(PasskeyResponse, 'body');
const over = () => unauthenticated('this sign-in is over; begin again');

interface Steps {
  deps: SecondStepDependencies;
  place: (request: Request) => SignInPlace;
  stepOf: (request: Request) => Promise<SignInStep | undefined>;
  failed: (request: Request, user: UserRow, factor: string) => Promise<void>;
}

export function secondStepRouter(deps: SecondStepDependencies): Router {
  const { config, database } = deps;
  const place = (request: Request) => callerPlace(request, config.trusted_proxies);
  const steps: Steps = {
    deps,
    place,
    stepOf: async (request) => {
      const token = readCookie(request, SIGN_IN_COOKIE);
      return token === undefined ? undefined : findSignInStep(database.db, token);
    },
    failed: async (request, user, factor) => {
      const event = { kind: 'second_factor.failed', user_id: user.id, subject: user.email } as const;
      await recordSecurityEvents(database.db, [{ ...event, place: place(request), details: { factor } }]);
    },
  };
  const router = Router();
  codeRoutes(router, steps);
  passkeyRoutes(router, steps);
  return router;
}

function codeRoutes(router: Router, { deps: { config, database }, place, stepOf, failed }: Steps): void {
  const { public_url } = config;
  const vault = new Vault(config.encryption_key, config.encryption_key_previous);

  router.get(SECOND_FACTOR_PAGE, async (request, response) => {
    response.set('cache-control', 'no-store');
    const step = await stepOf(request);
    if (!step?.user_id) return response.redirect(303, '/login');
    const factors = await readSecondFactors(database.db, step.user_id);
    return response.type('html').send(secondStepPage(factors, null));
  });

  router.post(
    SECOND_FACTOR_PAGE,
    express.urlencoded({ extended: false, limit: '8kb' }),
    async (request, response) => {
      refuseCrossSite(request, config);
      const step = await stepOf(request);
      const user = step?.user_id ? await findUser(database.db, step.user_id) : undefined;
      if (!step || !user) return response.redirect(303, '/login');
      const factors = await readSecondFactors(database.db, user.id);
      return answerPage(
        response,
        (error) => secondStepPage(factors, error),
        async () => {
          const { code } = codeForm(request.body ?? {});
          await transaction(database, (tx) => reserveSecondFactor(tx, user.email));
          const origin = { method: step.method, place: place(request) };
          const means = { code, vault, origin };
          const entry = await transaction(database, async (tx) =>
            joining(tx, step, user, await completeByCode(tx, { ...step, user_id: user.id }, user, means)),
          );
          if (!entry) {
            await failed(request, user, 'code');
            throw forbidden('the code is wrong');
          }
          response.clearCookie(SIGN_IN_COOKIE, { path: '/' });
          response.redirect(303, setSignInCookie(response, public_url, entry, ownPath(step.next_path)));
        },
      );
    },
  );
}

function passkeyRoutes(router: Router, steps: Steps): void {
  const { deps, stepOf } = steps;
  const { config, database } = deps;
  const { public_url } = config;
  const json = express.json({ limit: '64kb' });
  router.post('/login/passkey/options', json, async (request, response) => {
    refuseCrossSite(request, config);
    const known = await stepOf(request);
    const passkeys = known?.user_id ? await passkeysOf(database.db, known.user_id) : [];
    const options = await requestOptions(public_url, passkeys);
    const token_hash = known?.user_id ? known.token_hash : await aloneStep(deps, request, response);
    await transaction(database, (tx) => askPasskey(tx, token_hash, options.challenge));
    response.set('cache-control', 'no-store').json(options);
  });

  router.post('/login/passkey', json, async (request, response) => {
    refuseCrossSite(request, config);
    const answer = passkeyAnswer(request.body ?? {});
    const step = await stepOf(request);
    const { challenge } = step ?? {};
    if (!step || !challenge || !(await transaction(database, (tx) => takeStepChallenge(tx, step))))
      throw over();
    const passkey = await findPasskey(database.db, answer.id);
    const user = passkey && (await findUser(database.db, passkey.user_id));
    if (!passkey || !user || (step.user_id !== null && step.user_id !== user.id))
      throw forbidden('the passkey could not be verified');
    const entry = await byPasskey(steps, request, step, user, async () =>
      verifyRequest(public_url, answer, { challenge, passkey, alone: step.user_id === null }).then(
        (counter) => ({
          id: passkey.id,
          counter,
        }),
      ),
    );
    response.clearCookie(SIGN_IN_COOKIE, { path: '/' });
    const next = setSignInCookie(response, public_url, entry, ownPath(step.next_path));
    response.set('cache-control', 'no-store').json({ next });
  });
}

/** Accepts the step's invite once it is complete: until then, a sign-in does nothing in the user's name. */
async function joining(
  tx: Tx,
  { invite_token: hash }: SignInStep,
  user: UserRow,
  inside: Entry | undefined,
): Promise<Entry | undefined> {
  if (inside !== undefined && hash !== null) await acceptCarriedInvite(tx, actorOf(user), { hash });
  return inside;
}

/** A sign-in that starts with the passkey. */
async function aloneStep(
  { config: { public_url }, database }: SecondStepDependencies,
  request: Request,
  response: Response,
): Promise<string> {
  const next_path = ownPath(request.body?.next);
  const { token } = await transaction(database, (tx) =>
    openSignInStep(tx, { user_id: null, method: 'passkey', next_path }),
  );
  response.cookie(SIGN_IN_COOKIE, token, stepCookie(public_url));
  return (await findSignInStep(database.db, token))!.token_hash;
}

async function byPasskey(
  { deps: { database }, place, failed }: Steps,
  request: Request,
  step: SignInStep,
  user: UserRow,
  verify: () => Promise<{ id: string; counter: number }>,
): Promise<Entry> {
  const used = await verify().catch(async (error: unknown) => {
    await failed(request, user, 'passkey');
    throw error;
  });
  const origin = { method: step.method, place: place(request) };
  const entry = await transaction(database, async (tx) => {
    if (!(await notePasskeyUse(tx, used.id, used.counter))) throw over();
    await clearSecondFactor(tx, user.email);
    return joining(tx, step, user, await completeStep(tx, step, user.id, origin));
  });
  if (!entry) throw over();
  return entry;
}
