/** Stands in a bundle for what pg-boss evaluates its recurring schedules with: 190 KB of text in every process. */
export class RRuleTemporal {
  constructor() {
    throw new Error('programs are bundled without pg-boss’s schedules: routines have their own');
  }
}
