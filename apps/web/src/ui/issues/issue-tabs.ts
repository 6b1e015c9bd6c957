import type { Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { tabs } from '../kit/parts.ts';

/** @param changes whether the issue has a workspace folder */
export function issueTabs(id: string, active: string, changes: boolean): Html {
  const path = `/issues/${id}`;
  const items = [
    { label: t`Conversation`, path },
    { label: t`Material`, path: `${path}/material` },
    ...(changes ? [{ label: t`Changes`, path: `${path}/changes` }] : []),
  ];
  return tabs('Issue', items, active);
}
