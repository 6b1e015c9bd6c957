import { changeInstanceSettings, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import type { Answer, Command, CommandContext } from '../command.ts';

const operator = systemActor('operator');

const set = (runs_paused: boolean) =>
  async function stopOrGo({ database }: CommandContext): Promise<Answer> {
    await transaction(database, (tx) => changeInstanceSettings(tx, operator, { runs_paused }));
    const text = runs_paused ? 'no run starts from now on; running ones go on' : 'runs may start again';
    return { value: { runs_paused }, text };
  };

export const runs: Record<string, Command> = {
  pause: { usage: 'runs pause', doc: 'Emergency stop: no more runs start on this instance.', run: set(true) },
  resume: { usage: 'runs resume', doc: 'Ends the emergency stop.', run: set(false) },
};
