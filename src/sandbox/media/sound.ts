import { type Answer, raw } from '../http/answer.ts';
import { spread } from '../links/store.ts';

const RATE = 16_000;
const SECONDS = 2;
// A pentatonic scale: whatever notes the seed picks, they sound well together.
const SCALE = [220, 246.94, 277.18, 329.63, 369.99, 440, 493.88, 554.37];

/** A short WAV of a few plucked notes; the same seed gives the same tune. */
export function playSound(seed: string): Answer {
  const samples = RATE * SECONDS;
  const file = Buffer.alloc(44 + samples * 2);
  file.write('RIFF', 0);
  file.writeUInt32LE(36 + samples * 2, 4);
  file.write('WAVEfmt ', 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20); // PCM
  file.writeUInt16LE(1, 22); // one channel
  file.writeUInt32LE(RATE, 24);
  file.writeUInt32LE(RATE * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36);
  file.writeUInt32LE(samples * 2, 40);
  const step = RATE / 4;
  for (let at = 0; at < samples; at++) {
    const note = spread(`${seed} ${Math.floor(at / step)}`) % SCALE.length;
    const time = (at % step) / RATE;
    const attack = Math.min(1, time * 80);
    const tone = Math.sin(2 * Math.PI * (SCALE[note] ?? 220) * time) * Math.exp(-5 * time) * attack;
    file.writeInt16LE(Math.round(tone * 14_000), 44 + at * 2);
  }
  return raw('audio/wav', file);
}
