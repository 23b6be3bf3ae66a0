import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Names this process by machine, ID and start time, so that another process can check whether it is running. */
export function ownerName(): string {
  return `${encodeURIComponent(hostname())}/${process.pid}/${startOf(process.pid) ?? '-'}`;
}

/**
 * Whether the process of that name is running. One of another machine cannot be checked and counts as ended, as
 * after the replacement of its container.
 */
export function isAlive(owner: string): boolean {
  const [host, id, start] = owner.split('/');
  if (host !== encodeURIComponent(hostname()) || !/^\d+$/.test(id ?? '')) return false;
  try {
    process.kill(Number(id), 0);
  } catch (error) {
    // A process of another user is running too.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  // Ids are used again: in a container, each process in turn is the first.
  return start === '-' || startOf(Number(id)) === start;
}

/** When a process began, in a unit of its system; `null` if it has ended or the system does not provide it. */
function startOf(id: number): string | null {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
    // The name in brackets can hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
