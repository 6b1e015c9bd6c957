/** Pages of an agent's prompts and of their evolution. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { PromptEvolution } from '@acp/contract';
import { putFlag, systemActor } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import { createLearner, finishIssues } from '../evolutions/history.ts';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

const { evolution_candidates, evolution_steps, prompt_evolutions } = schema;

let app: Express;
let cast: Cast;
let database: Database;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
  await transaction(database, async (tx) =>
    putFlag(tx, systemActor('test'), 'prompt_evolution', { value: true }),
  );
});

describe('the prompts of an agent', () => {
  it('are evolved by a form, which a viewer does not have, and the evolution is ended by a member', async () => {
    const agent = await createLearner(database.db, { id: cast.company_id });
    const here = `/agents/${agent.id}/prompts`;
    const member = Browser.of(app, cast.member);
    const viewer = Browser.of(app, cast.viewer);
    expect((await member.get(here)).text).toContain('Evolve the prompt');
    expect((await viewer.get(here)).text).not.toContain('Evolve the prompt');
    const early = await member.post(`/agents/${agent.id}/evolve-prompt`, {
      max_rollouts: '30',
      max_cost_usd: '5',
    });
    expect([
      early.status,
      early.text.includes('too little history: the agent has 0 finished issues'),
    ]).toEqual([409, true]);
    const saved = await member.post(`${here}/settings`, {
      gepa_auto_promote: 'on',
      gepa_provider_override: '',
    });
    expect(saved.headers.location).toBe(`${here}?done=settings`);
    await finishIssues(database.db, agent, 13);
    const made = await member.post(`/agents/${agent.id}/evolve-prompt`, {
      max_rollouts: '30',
      max_cost_usd: '5',
    });
    expect(made.headers.location).toMatch(/^\/evolutions\/[0-9a-f-]{36}$/);
    const evolution = made.headers.location!;
    const running = (await member.get(evolution)).text;
    expect(running).toContain('1 of at most 30 trials');
    expect(running).toContain('Cancel it');
    expect((await viewer.get(evolution)).text).not.toContain('Cancel it');
    expect((await viewer.post(`${evolution}/cancel`, {})).status).toBe(403);
    expect((await Browser.of(app, cast.stranger).get(evolution)).status).toBe(404);
    // Whoever has the page open sees whether one can be started, and what came of it.
    const part = `${here}/part/versions`;
    expect((await viewer.get(here)).text).toContain(`data-source="${part}"`);
    const busy = (await member.get(part)).text;
    for (const shown of ['An evolution is in progress.', 'Version 1', 'not scored yet'])
      expect(busy).toContain(shown);
    expect(busy).not.toContain('Evolve the prompt');
    await member.post(`${evolution}/cancel`, {});
    expect((await member.get(part)).text).toContain(`action="/agents/${agent.id}/evolve-prompt"`);
    const ended = (await viewer.get(part)).text;
    expect(ended).toContain('not scored');
    expect(ended).not.toMatch(/not scored yet|Evolve the prompt/);
    const { body } = await member.api('get', `/api/prompt-evolutions/${evolution.split('/').at(-1)!}`);
    expect((body as PromptEvolution).status).toBe('cancelled');
  });

  it('show what a candidate changes, its scores on each issue and the curve; no text becomes markup', async () => {
    const agent = await createLearner(database.db, { id: cast.company_id });
    await finishIssues(database.db, agent, 13);
    const member = Browser.of(app, cast.member);
    const made = await member.post(`/agents/${agent.id}/evolve-prompt`, {
      max_rollouts: '30',
      max_cost_usd: '5',
    });
    const here = made.headers.location!;
    const evolution_id = here.split('/').at(-1)!;
    const of = { evolution_id, cost_usd: 0.01, status: 'scored', minibatch: [] };
    await database.db
      .update(evolution_candidates)
      .set({ status: 'scored', score: 0.25, cost_usd: 0.01 })
      .where(eq(evolution_candidates.evolution_id, evolution_id));
    await database.db.insert(evolution_candidates).values({
      ...of,
      number: 1,
      parent_number: 0,
      score: 0.75,
      system_prompt: 'You answer. <script>alert(1)</script> Sign.',
      reason: 'It never signed.',
    });
    const step = { evolution_id, candidate_number: 1, ordinal: 0, status: 'done' };
    await database.db.insert(evolution_steps).values([
      { ...step, kind: 'rollout', run_id: newId(), text: 'Dear …', score: 1 },
      { ...step, kind: 'judge', run_id: newId(), text: 'Well "signed".', score: 0.8 },
    ]);
    await database.db
      .update(prompt_evolutions)
      .set({
        status: 'completed',
        version_number: 2,
        winner_number: 1,
        watch: 'rolled_back',
        watch_note: 'Worse.',
      })
      .where(eq(prompt_evolutions.id, evolution_id));
    const { text } = await member.get(here);
    expect(text).not.toContain('<script>alert');
    for (const part of [
      'aria-label="Scores: The initial prompt: 0.25, Candidate 1: 0.75"',
      'It never signed.',
      '<ins>&#60;script&#62;alert(1)&#60;/script&#62; Sign.</ins>',
      'the winner',
      'title="Well &#34;signed&#34;."',
      '>0.80</a>',
      'version 2</a>, rolled back',
    ])
      expect(text).toContain(part);
    expect((await member.get(here, { 'accept-language': 'de' })).text).toContain('>0,80</a>');
    expect((await member.get(`/agents/${agent.id}/prompts`)).text).toContain('score 0.25 to 0.75, version 2');
  });
});
