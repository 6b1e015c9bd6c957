import { inline, quoted } from '@acp/adapters';
import type { RunWorkspace } from './run-workspace.ts';

const REMARK = 2000;
const OUTPUT = 3000;

/** How the error of a workspace begins if a run was over and what it left could not be stored. */
export const NOT_STORED = 'what the run left in its workspace is not stored yet: ';

interface Preparation {
  /** The last output of the set-up command, if it failed. */
  setup_problem: string | null;
}

/** Describes to an agent the folder it works in, at the end of its prompt. */
export function describeWorkspace({ facts, base }: RunWorkspace, { setup_problem }: Preparation): string {
  const { workspace, issue, project, remarks, remark_count, told_count } = facts;
  const begun = workspace.version > 0 ? ' It is as the last run on this issue left it.' : '';
  const lines =
    base === null
      ? [`The current folder is this issue’s own: what you leave in it stays for its next run.${begun}`]
      : [
          `The current folder is a git repository, this issue’s own: branch ${inline(workspace.branch ?? '')}, begun at ${inline(base.branch)} of ${inline(workspace.repo_url ?? '')}.${begun}`,
          `Work in it and commit what belongs together, with ${issue.identifier} in the subject. What you leave uncommitted is committed in your name at the end. You can’t fetch or push: that is done for you.`,
        ];
  lines.push(
    'Files of your own, for all your work, lie in $HOME/files; your skills in $HOME/skills/<slug>/SKILL.md.',
  );
  if (workspace.error?.startsWith(NOT_STORED) === true)
    lines.push(
      'What is in it could not be stored after the last run, and nobody sees it until you have mended this:',
      quoted('result', workspace.error.slice(NOT_STORED.length), OUTPUT),
    );
  if (setup_problem !== null)
    lines.push('The project’s set-up command failed in it:', quoted('result', setup_problem, OUTPUT));
  if (project?.check_command) {
    lines.push(`At the end the project’s check command is run: ${inline(project.check_command)}`);
    if (workspace.check_status === 'failed' || workspace.check_status === 'timed_out')
      lines.push(
        'After the last run it failed:',
        quoted('result', (workspace.check_output ?? '').slice(-OUTPUT), OUTPUT),
      );
  }
  const parts = [`# Your workspace\n${lines.join('\n')}`];
  if (remarks.length > 0) {
    const said = remarks.map(({ path, side, line, line_text, body_markdown, author_name }) => {
      const place = { file: path, line: `${line}${side === 'old' ? ' before the change' : ''}` };
      const whole = line_text === null ? body_markdown : `> ${line_text}\n${body_markdown}`;
      return quoted('comment', whole, REMARK, { ...place, author: author_name ?? 'an agent' });
    });
    const more = remark_count > remarks.length ? [`… and ${remark_count - remarks.length} more`] : [];
    parts.push(['# Comments on lines of your changes', 'See to each of them.', ...said, ...more].join('\n'));
  }
  if (told_count > 0)
    parts.push(
      `Of the comments on lines that you were told before, ${told_count} ${told_count === 1 ? 'is' : 'are'} still open: nobody has looked at them again yet.`,
    );
  return parts.join('\n\n');
}
