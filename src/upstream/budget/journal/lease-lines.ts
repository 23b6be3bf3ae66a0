import type { Moment } from '../../../scheduling/clock.ts';

/** A lease in the file; times are on the monotonic clock of the process that wrote it. */
export interface WrittenLease {
  readonly key: string;
  readonly lengthy: boolean;
  readonly begunAt: number;
  /** When its response ended; `null` if unknown. */
  readonly endedAt: number | null;
}

/** The content of a journal file. */
export interface LeaseLines {
  /** The process that wrote it. */
  readonly owner: string;
  /** Whether that process has closed it. */
  readonly released: boolean;
  readonly leases: readonly WrittenLease[];
  /** When co-tenants of a key were last seen. */
  readonly coTenants: ReadonlyMap<string, number>;
  /** Since when it is complete; `null` if that is too long ago to matter. */
  readonly knownSince: number | null;
  /** The latest time in the file. */
  readonly last: Moment;
}

/** The first line of a file. */
export function headLine(owner: string, knownSince: number | null, { now, wall }: Moment): string {
  const since = knownSince === null ? '-' : Math.round(knownSince);
  return `leases 1 ${owner} ${since} ${Math.round(now)} ${Math.round(wall)}\n`;
}

/** A request is sent. */
export function begunLine(id: number, { key, lengthy }: WrittenLease, moment: Moment): string {
  return `+ ${id} ${Math.round(moment.now)} ${Math.round(moment.wall)} ${key} ${lengthy ? 'l' : 's'}\n`;
}

/** Its response has ended. */
export function endedLine(id: number, { now, wall }: Moment): string {
  return `- ${id} ${Math.round(now)} ${Math.round(wall)}\n`;
}

/** It was not sent. */
export function cancelledLine(id: number): string {
  return `x ${id}\n`;
}

/** A co-tenant of a key was seen. */
export function coTenantLine(key: string, { now, wall }: Moment): string {
  return `c ${key} ${Math.round(now)} ${Math.round(wall)}\n`;
}

/** The process has closed its file. */
export const RELEASED_LINE = 'z\n';

const HEAD = /^leases 1 (\S+) (-|-?\d+) (-?\d+) (\d+)$/;
const LINE =
  /^(?:\+ (\d+) (-?\d+) (\d+) (\S+) ([ls])|- (\d+) (-?\d+) (\d+)|x (\d+)|c (\S+) (-?\d+) (\d+)|(z))$/;

/**
 * Parses a file; `null` if it has another format or is damaged. The last line may be incomplete, because its request
 * was not sent then.
 */
export function readLeaseLines(text: string): LeaseLines | null {
  const [first = '', ...lines] = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  const head = HEAD.exec(first);
  if (!head) return null;
  let last: Moment = { now: Number(head[3]), wall: Number(head[4]) };
  const pass = (now: string | undefined, wall: string | undefined): number => {
    last = { now: Number(now), wall: Number(wall) };
    return Number(now);
  };
  const leases = new Map<string, WrittenLease>();
  const coTenants = new Map<string, number>();
  let released = false;
  for (const line of lines.slice(0, -1)) {
    const match = LINE.exec(line);
    if (!match) return null;
    const [
      ,
      begun,
      begunNow,
      begunWall,
      key,
      size,
      ended,
      endedNow,
      endedWall,
      cancelled,
      shared,
      seenNow,
      seenWall,
    ] = match;
    if (begun !== undefined && key !== undefined) {
      const begunAt = pass(begunNow, begunWall);
      leases.set(begun, { key, lengthy: size === 'l', begunAt, endedAt: null });
    } else if (ended !== undefined) {
      const lease = leases.get(ended);
      if (!lease) return null;
      leases.set(ended, { ...lease, endedAt: pass(endedNow, endedWall) });
    } else if (cancelled !== undefined) {
      if (!leases.delete(cancelled)) return null;
    } else if (shared !== undefined) coTenants.set(shared, pass(seenNow, seenWall));
    else released = true;
  }
  const knownSince = head[2] === '-' ? null : Number(head[2]);
  return {
    owner: head[1] ?? '',
    released,
    leases: [...leases.values()],
    coTenants,
    knownSince,
    last,
  };
}
