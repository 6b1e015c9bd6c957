import { checkouts } from './groups/checkouts.ts';
import { deliverables } from './groups/deliverables.ts';
import { installs } from './groups/installs.ts';
import { issueCreation } from './groups/create-issue.ts';
import { issueFields } from './groups/issue-fields.ts';
import { knowledge } from './groups/knowledge.ts';
import { notes } from './groups/notes.ts';
import { reading } from './groups/reading.ts';
import { relations } from './groups/relations.ts';
import { requests } from './groups/requests.ts';
import { routines } from './groups/routines.ts';
import { subagents } from './groups/subagents.ts';
import { tools } from './groups/tools.ts';
import { waiting } from './groups/waiting.ts';
import type { Verb, VerbGroup } from './verb.ts';

const groups: readonly VerbGroup[] = [
  issueFields,
  checkouts,
  issueCreation,
  reading,
  relations,
  waiting,
  routines,
  notes,
  knowledge,
  deliverables,
  installs,
  requests,
  subagents,
  tools,
];

/** Implementation of each verb that the table marks as available; a test compares the two. */
export const verbs: ReadonlyMap<string, Verb> = new Map(groups.flatMap((group) => Object.entries(group)));
