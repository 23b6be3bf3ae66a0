import type { Setting, SettingKind } from '../../src/config/settings.ts';

/** All settings as one table, in Markdown without a trailing newline; the page cuts it into groups. */
export function renderSettings(settings: readonly Setting[]): string {
  return [
    '| Variable | Default | Value | What it does |',
    '|---|---|---|---|',
    ...settings.map((setting) => {
      const name = setting.secret
        ? `\`${setting.name}\`, \`${setting.name}_FILE\``
        : `\`${setting.name}\``;
      const value = setting.default === null ? '' : `\`${setting.default}\``;
      return `| ${name} | ${value} | ${describeKind(setting.kind)} | ${setting.doc} |`;
    }),
  ].join('\n');
}

function describeKind(kind: SettingKind): string {
  switch (kind.type) {
    case 'integer':
      return `${kind.min} to ${kind.max}`;
    case 'choice':
      return kind.choices.map((choice) => `\`${choice}\``).join(', ');
    case 'flag':
      return '`true`, `false`';
    case 'baseUrl':
    case 'url':
      return 'URL';
    case 'origins':
      return 'origins';
    case 'timeZone':
      return 'time zone';
    default:
      return 'text';
  }
}
