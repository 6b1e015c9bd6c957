import { checkouts } from './groups/checkouts.ts';
import { issueCreation } from './groups/create-issue.ts';
import { issueFields } from './groups/issue-fields.ts';
import { reading } from './groups/reading.ts';
import { relations } from './groups/relations.ts';
import { routines } from './groups/routines.ts';
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
];

/** What is behind each verb that the table marks as available; a test compares the two. */
export const verbs: ReadonlyMap<string, Verb> = new Map(groups.flatMap((group) => Object.entries(group)));
