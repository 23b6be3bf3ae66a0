import { type Figure, percentile } from '../report/measurement.ts';
import { type Answer, textOf } from './answer.ts';
import type { Gateway } from './gateways.ts';
import type { Server } from './servers.ts';
import type { Row } from './start-rows.ts';

/** What one round of a row came to. */
export interface Outcome {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Processor time of the server for each answer, in µs. */
  readonly cpuMicros: number;
  /** Of each answer with its head. */
  readonly bytes: number;
}

/** A row with what it is compared with, and all rounds of both. */
export interface Contest {
  readonly row: Row;
  readonly answer: Answer;
  readonly bare: Baseline;
  readonly rounds: Outcome[];
}

/** A bare server that gets the same requests and sends the same bytes. */
export interface Baseline {
  readonly server: Server;
  readonly rounds: Outcome[];
}

/** What a row and its baseline came to, against the row’s targets. */
export function figuresOf({ row, answer, bare, rounds }: Contest): Figure[] {
  const { label, targets = {} } = row;
  const of = (outcomes: readonly Outcome[], member: keyof Outcome): number =>
    percentile(
      outcomes.map((outcome) => outcome[member]),
      0.5,
    );
  const note = [
    `${Math.round(of(rounds, 'perSecond'))} over ${Math.round(of(bare.rounds, 'perSecond'))} a second`,
    `${Math.round(of(rounds, 'cpuMicros'))} over ${Math.round(of(bare.rounds, 'cpuMicros'))} µs of processor each`,
    `p50 ${of(rounds, 'p50').toFixed(1)} ms, p99 ${of(rounds, 'p99').toFixed(1)} ms`,
    `${Math.round(of(rounds, 'bytes'))} bytes on the wire`,
  ];
  const figures: Figure[] = [
    {
      label,
      // Answers a second over those of bare node.
      value: percentile(
        rounds.map(
          ({ perSecond }, round) => perSecond / (bare.rounds[round]?.perSecond ?? Number.NaN),
        ),
        0.5,
      ),
      digits: 3,
      note: note.join('; '),
      ...(targets.ratio === undefined ? {} : { target: { atLeast: targets.ratio } }),
    },
  ];
  if (targets.p99 !== undefined) {
    figures.push({
      label: `${label}: p99`,
      value: of(rounds, 'p99'),
      digits: 1,
      unit: ' ms',
      target: { atMost: targets.p99 },
    });
  }
  if (targets.p99OverP50 !== undefined) {
    const value = percentile(
      rounds.map(({ p50, p99 }) => p99 / p50),
      0.5,
    );
    const target = { atMost: targets.p99OverP50 };
    figures.push({ label: `${label}: p99 over p50`, value, digits: 1, target });
  }
  if (targets.bytes !== undefined) {
    const whole = Buffer.byteLength(textOf(answer));
    figures.push({
      label: `${label}: bytes of the body, over uncompressed`,
      value: answer.body.length / whole,
      digits: 2,
      target: { atMost: targets.bytes },
      note: `${answer.body.length} over ${whole}`,
    });
  }
  return figures;
}

/** The memory of the gateways before anything is asked and now, of whichever holds most. */
export function memoryOf(gateways: readonly Gateway[]): Figure[] {
  const loaded = gateways.map(({ configuration, server }) => ({
    configuration,
    megabytes: server.memoryMb(),
  }));
  const most = Math.max(...loaded.map(({ megabytes }) => megabytes));
  const rest = gateways.map(({ restMb }) => restMb);
  const each = loaded.map(
    ({ configuration, megabytes }) => `${configuration} ${Math.round(megabytes)}`,
  );
  return [
    {
      label: 'highest memory when idle',
      value: Math.max(...rest),
      unit: ' MB',
      target: { atMost: 80 },
    },
    {
      label: 'highest memory after all rows',
      value: most,
      unit: ' MB',
      target: { atMost: 130 },
      note: `${each.join(', ')} MB`,
    },
  ];
}
