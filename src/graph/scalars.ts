import { builder } from './builder.ts';

builder.scalarType('DateTime', {
  description: 'A moment as ISO 8601 in UTC, e.g. `2026-01-31T09:30:00Z`.',
  serialize: (value) => value,
});

builder.scalarType('Date', {
  description: 'A day as `YYYY-MM-DD`, without a time zone.',
  serialize: (value) => value,
});
