/**
 * Third-party work inside packages that do not contain its license, or no text of it.
 *
 * @typedef {object} Embedded
 * @property {string} name
 * @property {string} [version] If the file contains it: a build fails if it changes.
 * @property {string} at The file, or the folder of its files, within `node_modules`.
 * @property {string} licence An SPDX expression.
 * @property {string} text The license under which it is used, of `texts/`.
 * @property {string} copyright
 * @property {string} source
 */

/** @type {Embedded[]} */
export const embedded = [
  {
    name: 'codicons',
    at: 'monaco-editor/esm/vs/base/browser/ui/codicons/codicon/codicon.ttf',
    licence: 'CC-BY-4.0',
    text: 'CC-BY-4.0',
    copyright: 'Copyright (c) Microsoft Corporation. The font is not changed.',
    source: 'https://github.com/microsoft/vscode-codicons',
  },
  {
    name: 'dompurify',
    version: '3.1.7',
    at: 'monaco-editor/esm/vs/base/browser/dompurify/dompurify.js',
    licence: 'MPL-2.0 OR Apache-2.0',
    text: 'Apache-2.0',
    copyright: '(c) Cure53 and other contributors',
    source: 'https://github.com/cure53/DOMPurify',
  },
  {
    name: 'marked',
    version: '14.0.0',
    at: 'monaco-editor/esm/vs/base/common/marked/marked.js',
    licence: 'MIT',
    text: 'MIT',
    copyright: 'Copyright (c) 2011-2024, Christopher Jeffrey. (MIT Licensed)',
    source: 'https://github.com/markedjs/marked',
  },
  {
    name: 'llhttp',
    at: 'undici/lib/llhttp/',
    licence: 'MIT',
    text: 'MIT',
    copyright: 'Copyright Fedor Indutny, 2018.',
    source: 'https://github.com/nodejs/llhttp',
  },
];

/**
 * The copyright holders of packages that contain neither a license text nor an author, according to the LICENSE of
 * their repository.
 *
 * @type {Record<string, string>}
 */
export const holders = {
  '@graphiql/plugin-doc-explorer': 'Copyright (c) 2021 GraphQL Contributors',
  '@graphiql/plugin-history': 'Copyright (c) 2021 GraphQL Contributors',
  'react-compiler-runtime': 'Copyright (c) Meta Platforms, Inc. and affiliates.',
};
