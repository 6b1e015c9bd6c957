/**
 * Knowledge: whether the search finds the passage that answers, by full text alone and with embeddings, and how long it
 * takes over many passages. The corpus is the pages of `docs/` plus notes that are asked for in other words. The embeddings
 * are a stand-in, hashed pieces of words with a list of synonyms: they show what merging the rankings does, not what a real
 * model would add.
 */
import {
  createNote,
  enableVectorIndex,
  indexNextSource,
  insertVectors,
  type QuestionVector,
  searchKnowledge,
  vectorSpaceOf,
  vectorIndexState,
} from '@acp/core';
import { type Database, openDatabase, schema, takeTime, transaction } from '@acp/db';
import { cloneDatabase, createCompany, createUser, actors, wordEmbeddings } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { readdir, readFile } from 'node:fs/promises';
import type { BenchOptions, Report } from './report.ts';
import { notes, synonyms } from './knowledge-corpus.ts';
import { percentile } from './statistics.ts';

const FOUND_WITHIN = 8;
const AIM_MS = 50;
const MANY = 100_000;
const BATCH = 500;
const space = vectorSpaceOf({ adapter_type: 'family_compat', base_url: null, embedding_model: 'bench' });
const embed = wordEmbeddings(synonyms, 384);

/** Questions, phrased differently from the page where possible, and the page that answers each. */
const questions: readonly [question: string, page: string][] = [
  ['How do I bring back a backup after the disk died?', 'operating'],
  ['What happens when a scheduler is killed in the middle of a run?', 'ARCHITECTURE'],
  ['Who can read a private conversation with an agent?', 'chats'],
  ['How are passages cut from long tables and code?', 'knowledge'],
  ['Which steps add a new page to the user interface?', 'adding-a-page'],
  ['How does a new background job get into the catalogue?', 'adding-a-job'],
  ['What does a tool provider have to implement?', 'adding-a-tool-provider'],
  ['How is a remote worker registered and approved?', 'workers'],
  ['How do I sign the payload of an incoming webhook of a routine?', 'routines'],
  ['Which environment variable limits the size of uploads?', 'configuration'],
  ['How do I set up a passkey or an authenticator app?', 'sign-in'],
  ['Which status code does a conflict answer with?', 'http-status'],
  ['How do tests wait for something without sleeping?', 'testing'],
  ['How does an outside agent send a task by A2A?', 'a2a'],
  ['How does a plugin ask for a host service?', 'plugins'],
  ['Which command line programs can run agents on this machine?', 'adapters'],
];

export async function benchKnowledge(report: Report, options: BenchOptions): Promise<void> {
  report.section('(j) The search of knowledge');
  const clone = await cloneDatabase('bench_knowledge');
  // Opened the way the tiers open it.
  const database = openDatabase({
    url: clone.url,
    max: 4,
    application_name: 'bench',
    prepared_statements: true,
  });
  try {
    await measureRecall(report, database);
    await measureTime(report, database, async () => enableIndex(clone.url), options.smoke ? MANY / 50 : MANY);
  } finally {
    await database.close();
    await clone.close();
  }
}

async function measureRecall(report: Report, database: Database): Promise<void> {
  const company = await createCompany(database.db);
  const actor = actors.user(await createUser(database.db), { [company.id]: 'admin' });
  const folder = new URL('../../docs/', import.meta.url);
  const pages = (await readdir(folder)).filter((name) => name.endsWith('.md'));
  const texts = pages.map(async (name) => ({
    title: name.replace('.md', ''),
    body_markdown: await readFile(new URL(name, folder), 'utf8'),
  }));
  const written = notes.map(([title, body_markdown]) => ({ title, body_markdown }));
  for (const { title, body_markdown } of [...(await Promise.all(texts)), ...written]) {
    await transaction(database, async (tx) => createNote(tx, actor, company.id, { title, body_markdown }));
  }
  while ((await transaction(database, async (tx) => indexNextSource(tx, null))) !== undefined);
  const passages = await database.db.select().from(schema.knowledge_chunks);
  const vectors = vectorsOf(passages.map(({ heading, text }) => `${heading}\n\n${text}`));
  const rows = passages.map(({ id }, at) => ({ chunk_id: id, vector: vectors[at]! }));
  for (let at = 0; at < rows.length; at += BATCH)
    await insertVectors(database.db, { company_id: company.id, space }, rows.slice(at, at + BATCH));
  const asked = [
    ['questions about docs/', questions],
    [
      'questions in other words than the text',
      notes.map(([title, , question]) => [question, title] as const),
    ],
  ] as const;
  for (const [which, about] of asked)
    for (const withVectors of [false, true]) {
      const found = await countFound(database, company.id, about, withVectors);
      report.add({
        name: `recall@${FOUND_WITHIN}, ${which}, ${withVectors ? 'hybrid' : 'by words'}`,
        value: (100 * found) / about.length,
        unit: '%',
        conditions: `${about.length} questions, ${passages.length} passages; embeddings are hashed words with synonyms that we made up, no real model`,
      });
    }
}

async function countFound(
  database: Database,
  company_id: string,
  about: readonly (readonly [string, string])[],
  withVectors: boolean,
): Promise<number> {
  let found = 0;
  for (const [question, page] of about) {
    const vector = withVectors ? questionVector(question) : null;
    const best = await searchKnowledge(database.db, company_id, { question, limit: FOUND_WITHIN, vector });
    if (best.some(({ title }) => title.split(' › ')[0] === page)) found += 1;
  }
  return found;
}

/** Same as `ctl`: uses a connection without a statement timeout. */
async function enableIndex(url: string): Promise<void> {
  const own = openDatabase({ url, max: 1, application_name: 'bench' });
  try {
    await enableVectorIndex(own.db);
  } finally {
    await own.close();
  }
}

async function measureTime(
  report: Report,
  database: Database,
  enable: () => Promise<void>,
  count: number,
): Promise<void> {
  const company = await createCompany(database.db);
  await fill(database, company.id, count);
  const asked = Array.from(
    { length: 60 },
    (_, n) => `word${lettered((n * 37) % 900)} common${lettered(n % 20)} word${lettered((n * 91) % 4000)}`,
  );
  const { available } = await vectorIndexState(database.db);
  for (const way of [
    'by words',
    'hybrid, by signs',
    ...(available === null ? [] : ['hybrid, by pgvector']),
  ]) {
    if (way.endsWith('pgvector')) await enable();
    const withVectors = way.startsWith('hybrid');
    const took: number[] = [];
    for (const question of asked) {
      const vector = withVectors ? questionVector(question) : null;
      const began = performance.now();
      await searchKnowledge(database.db, company.id, { question, vector });
      took.push(performance.now() - began);
    }
    report.add({
      name: `search ${way}, p95`,
      value: percentile(took.slice(10), 95),
      unit: 'ms',
      aim: { at_most: AIM_MS },
      conditions: `${count} passages of one company, 384 dimensions, ${available === null ? 'a server without pgvector' : `pgvector ${available} there`}; median ${percentile(took.slice(10), 50).toFixed(1)} ms`,
    });
  }
}

/** Inserts passages over a vocabulary with few common and many rare words, twenty per source, with vectors. */
async function fill(database: Database, company_id: string, count: number): Promise<void> {
  const { db } = database;
  await db.execute(sql`
    insert into knowledge_sources (company_id, source_type, source_id, chunked_revision, chunk_count)
    select ${company_id}, 'note', gen_random_uuid(), 1, 20 from generate_series(1, ${count / 20}::int)`);
  // Takes longer than any statement of the service is allowed to.
  await transaction(database, async (tx) => {
    await takeTime(tx);
    await tx.execute(sql`
    insert into knowledge_chunks (source_key, company_id, ordinal, heading, text)
    select s.id, s.company_id, n, 'Page ' || left(s.id::text, 8) || ' section ' || n, (
      select string_agg(translate(case when random() < 0.3 then 'common' || (random() * 20)::int
        else 'word' || (random() * random() * 20000)::int end, '0123456789', 'abcdfghjkl'), ' ') from generate_series(1, 120) where s.id is not null and n > 0)
    from knowledge_sources s cross join generate_series(1, 20) n where s.company_id = ${company_id}`);
  });
  const { rows } = await db.execute<{ id: string }>(
    sql`select id from knowledge_chunks where company_id = ${company_id}`,
  );
  for (let at = 0; at < rows.length; at += BATCH) {
    const batch = rows.slice(at, at + BATCH).map(({ id }) => ({ chunk_id: id, vector: randomVector() }));
    await insertVectors(db, { company_id, space }, batch);
  }
  await db.execute(sql`analyze knowledge_chunks, knowledge_sources, knowledge_vectors`);
}

/** Words with digits are matched exactly, purely alphabetic ones by prefix, which takes longer. */
const lettered = (number: number): string =>
  String(number).replaceAll(/\d/g, (digit) => 'abcdfghjkl'[Number(digit)]!);

function randomVector(): Float32Array {
  return unit(Array.from({ length: 384 }, () => Math.random() - 0.5));
}

function questionVector(question: string): QuestionVector {
  return { space, vector: vectorsOf([question])[0]! };
}

const vectorsOf = (texts: string[]): Float32Array[] => embed(texts).map(unit);

function unit(numbers: readonly number[]): Float32Array {
  const norm = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => number / norm);
}
