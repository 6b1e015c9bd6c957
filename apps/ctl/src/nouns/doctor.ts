/** `ctl doctor`: checks the whole set-up and says how to fix each problem. */
import type { Answer, Command, CommandContext } from '../command.ts';
import { findings } from '../doctor/examine.ts';

async function examine(context: CommandContext): Promise<Answer> {
  const value = await findings(context);
  const lines = value.map(
    ({ check, ok, detail, mend }) =>
      `${ok ? 'ok  ' : 'FAIL'}  ${check}: ${detail}${mend === '' ? '' : `\n      mend: ${mend}`}`,
  );
  return { value, text: lines.join('\n'), failed: value.some(({ ok }) => !ok) };
}

export const doctor: Record<string, Command> = {
  '': {
    usage: 'doctor',
    doc: 'Checks the whole setup and says what to fix.',
    any_schema: true,
    run: examine,
  },
};
