import type { InputIssueCode } from '../errors.ts';
import { builder } from './builder.ts';

/** The type of `InputIssue.code`. What `params` holds for a code is part of its description. */
export const InputIssueCodeRef = builder.enumType('InputIssueCode', {
  description:
    'What can be wrong with a member of an input. Each says which `params` come with it; where it says nothing, there are none.',
  values: {
    REQUIRED: { description: 'It is missing, or no text.' },
    REQUIRED_ANY_OF: {
      description: 'One of several members has to be given. `members`: their names, as a list.',
    },
    BLANK: { description: 'It holds nothing but blanks.' },
    EMPTY: { description: 'It holds nothing: a file without bytes, or data without a part.' },
    TOO_SHORT: { description: 'It has too few characters. `min`: the fewest.' },
    TOO_LONG: { description: 'Its text is too long. `maxBytes`: the most bytes of UTF-8.' },
    TOO_LARGE: { description: 'The file is too large for a mutation. `maxBytes`: the largest.' },
    OUT_OF_RANGE: { description: 'The number is too small. `min`: the smallest.' },
    NOT_IN_FUTURE: { description: 'The moment has passed.' },
    INVALID_ID: {
      description:
        'It is no id, or one of another type. `type`: the name of the type that is wanted.',
    },
    INVALID_CHARACTERS: {
      description:
        'It may consist of letters, digits and some signs. `signs`: these signs, as one text.',
    },
    INVALID_EMAIL: { description: 'It is no e-mail address.' },
    INVALID_URL: { description: 'It is no URL with http or https.' },
    INVALID_DOMAIN: { description: 'It is not http or https and a host without a path.' },
    INVALID_COLOR: { description: 'It is no color. `format`: `#RRGGBB` or `rgb(r,g,b)`.' },
    INVALID_PICTURE: {
      description: 'It is no path or URL of a picture. `formats`: its extensions, as a list.',
    },
    INVALID_PHONE: { description: 'It is no number that can be dialled.' },
    INVALID_DATE: { description: 'It is no day of the calendar, as `YYYY-MM-DD`.' },
    INVALID_FILENAME: {
      description:
        'It is no bare name of a file with an extension, or has characters that none may.',
    },
    NOT_FOR_TYPE: {
      description:
        'The data is not what a QR code of this type holds. `type`: the type; `members`: what it takes, as a list.',
    },
    UNKNOWN_OPTION: {
      description:
        'There is no such option of `PUT /files/:filename`. `options`: those that there are, as a list.',
    },
    REPEATED_OPTION: {
      description: 'An option of `PUT /files/:filename` is given more than once.',
    },
  } satisfies Record<InputIssueCode, { description: string }>,
});
