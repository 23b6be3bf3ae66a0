import { readFileSync } from 'node:fs';
import { type Answer, raw } from '../http/answer.ts';

/** A film of two seconds with a moving disc, H.264 in MP4: the preview of all video items. */
export function showFilm(): Answer {
  return raw('video/mp4', readFileSync(new URL('./film.mp4', import.meta.url)));
}

/** Three notes as WAV. The preview of every item that has one. */
export function playTune(): Answer {
  return raw('audio/wav', readFileSync(new URL('./tune.wav', import.meta.url)));
}
