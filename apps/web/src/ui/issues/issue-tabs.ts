import type { Html } from '../kit/html.ts';
import { tabs } from '../kit/parts.ts';

/** @param changes whether programs have a folder for the issue */
export function issueTabs(id: string, active: string, changes: boolean): Html {
  const path = `/issues/${id}`;
  const items = [
    { label: 'Conversation', path },
    { label: 'Material', path: `${path}/material` },
    ...(changes ? [{ label: 'Changes', path: `${path}/changes` }] : []),
  ];
  return tabs('Issue', items, active);
}
