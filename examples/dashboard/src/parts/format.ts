const whole = new Intl.NumberFormat('en');
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });

const minute = new Intl.DateTimeFormat('en', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
});

/** `1,234`; a dash for what is unknown. */
export function count(value: number | null | undefined): string {
  return value == null ? '–' : whole.format(value);
}

/** `3 calls`, `1 call`. */
export function plural(value: number, noun: string): string {
  return `${whole.format(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** `Jul 30, 2025`; a dash for what is unknown. */
export function date(value: string | null | undefined): string {
  return value ? day.format(new Date(value)) : '–';
}

/** `Jul 30, 14:00` in UTC; a dash for what is unknown. */
export function moment(value: string | null | undefined): string {
  return value ? minute.format(new Date(value)) : '–';
}

/** `40 s`, `3 min` */
export function seconds(ms: number): string {
  return ms < 120_000 ? `${Math.floor(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** `12 ms`, `4.1 s`, and from ten seconds on as `seconds`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return seconds(ms);
}

/** `29.00 EUR`; a dash for what is unknown. */
export function money(value: number | null, currency: string | null): string {
  if (value === null) return '–';
  return currency ? `${value.toFixed(2)} ${currency}` : value.toFixed(2);
}

/** `1.4 MB` */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  if (value < 1_000_000) return `${Math.round(value / 1000)} kB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}
