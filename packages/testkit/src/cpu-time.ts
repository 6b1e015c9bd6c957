/** Milliseconds of CPU time that the work took: unlike wall-clock time, they do not depend on what else is running. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
