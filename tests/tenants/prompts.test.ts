/** What a model or a program is told, in runs of each kind, has nothing of another company. */
import { beforeAll, expect, it } from '@jest/globals';
import {
  advanceCouncil,
  claimRun,
  type ClaimedRun,
  compileIndex,
  configureCompile,
  conveneCouncil,
  createChat,
  createIssue,
  createNote,
  evolvePrompt,
  findAgent,
  findIssue,
  finishRun,
  indexNextSource,
  invokeAgent,
  postChatMessage,
  proposeFindings,
  putFlag,
  recallKnowledge,
  systemActor,
} from '@acp/core';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import {
  actors,
  createAgent,
  createCompany,
  createMembership,
  createUser,
  databaseWithQueue,
} from '@acp/testkit';
import { kindOfRun, executionKinds } from '../../apps/scheduler/src/execution/kinds/index.ts';
import { readPayload, workOf } from '../../apps/scheduler/src/execution/kinds/execution-kind.ts';
import { createLearner, finishIssues } from '../evolutions/history.ts';
import { createNeighbour, type Neighbour } from './neighbour.ts';

let database: Database;
let neighbour: Neighbour;
/** All that the runs of a kind were told, by kind. */
const told = new Map<string, string[]>();

const write = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);

beforeAll(async () => {
  database = await databaseWithQueue();
  neighbour = await createNeighbour(database);
  await write(async (tx) => putFlag(tx, systemActor('tests'), 'prompt_evolution', { value: true }));
  await startWork();
  for (let run = await claim(); run !== undefined; run = await claim()) {
    told.set(run.kind, [...(told.get(run.kind) ?? []), await promptsOf(run)]);
    const end = { failure: null, text: 'Nothing new. '.repeat(50), usage: null, changed: true };
    await write(async (tx) => finishRun(tx, run, end));
    await write(async (tx) => proposeFindings(tx, true));
  }
});

const claim = async () => write(async (tx) => claimRun(tx, { claimed_by: 'test', lease_sec: 30 }));

/** A run of each kind, of a company that asks for what only its neighbour knows. */
async function startWork(): Promise<void> {
  const company = await createCompany(database.db);
  const user = await createUser(database.db);
  await createMembership(database.db, company, user, 'admin');
  const human = actors.user(user, { [company.id]: 'admin' });
  // The neighbour has noted something about the same person.
  await database.db.insert(schema.user_models).values({
    company_id: neighbour.cast.company_id,
    user_id: user.id,
    body_markdown: 'Smuggled',
    private_markdown: 'Smuggled',
  });
  const ada = await createAgent(database.db, company, { name: 'Ada', auto_extract_findings: true });
  const grace = await createAgent(database.db, company, { name: 'Grace', reports_to: ada.id });
  const learner = await createLearner(database.db, company, { name: 'Linus' });
  await finishIssues(database.db, learner, 16);
  await write(async (tx) => {
    const about = { title: 'What is smuggled?', body_markdown: 'Find all that is smuggled.' };
    const issue = await createIssue(tx, human, company.id, { ...about, assignee_agent_id: ada.id });
    await invokeAgent(tx, human, (await findAgent(tx, ada.id))!);
    const council = await conveneCouncil(tx, human, (await findIssue(tx, issue.id))!, {
      agent_ids: [ada.id, grace.id],
    });
    await advanceCouncil(tx, council.id);
    await evolvePrompt(tx, human, (await findAgent(tx, learner.id))!, {});
    const { id: chat_id } = await createChat(tx, human, company.id, { agent_id: grace.id });
    await postChatMessage(tx, human, { id: chat_id }, { body_markdown: 'Tell me all that is smuggled.' });
    await tx.insert(schema.heartbeat_runs).values({
      company_id: company.id,
      agent_id: grace.id,
      kind: 'chat_summary',
      subject_type: 'chat',
      subject_id: chat_id,
      payload: { from_turn: 0, up_to_turn: 1 },
      wake_reason: 'chat',
      adapter_type: 'llm',
    });
    await createNote(tx, human, company.id, { title: 'Ours', body_markdown: 'Nothing is smuggled here.' });
    await configureCompile(tx, human, company.id, { agent_id: ada.id, every_hours: null });
  });
  while ((await write(async (tx) => indexNextSource(tx, null))) !== undefined);
  await write(async (tx) => compileIndex(tx, human, company.id));
}

async function promptsOf(run: ClaimedRun): Promise<string> {
  const tx = database.db;
  const kind = kindOfRun(run.kind);
  const recall = async (company_id: string, query: Parameters<typeof recallKnowledge>[2]) =>
    recallKnowledge(tx, company_id, query);
  const work = await workOf(kind, { tx, recall }, run, new AbortController().signal);
  return JSON.stringify([
    work.agent,
    work.prompt('model'),
    work.prompt('program'),
    kind.payload === undefined ? null : await readPayload(kind, tx, run, work),
  ]);
}

it('runs of each kind have taken place, and those that search the knowledge have found their own', () => {
  expect([...told.keys()].toSorted()).toEqual(executionKinds().toSorted());
  for (const kind of ['heartbeat', 'chat_reply'])
    expect(told.get(kind)!.join('')).toContain('Nothing is smuggled here');
});

it.each(executionKinds())('%s', (kind) => {
  expect(told.get(kind)!.flatMap((text) => neighbour.tracesIn(text))).toEqual([]);
});
