/** Milliseconds of processor time that the work took: unlike the clock's, they do not depend on what else runs. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
