import { useEffect, useState } from 'react';
import { Field } from './field.tsx';
import { LONGEST_SEARCH } from './use-table-state.ts';

/** How long after the last key a search starts, in milliseconds. */
const PAUSE_MS = 250;

interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
}

/** A field whose text is searched for once one stops typing, or at once by Enter. */
export function SearchField({ label, value, onSearch }: SearchFieldProps) {
  const [text, setText] = useState(value);
  // The address can have another text, after "Back".
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onSearch(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onSearch]);
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSearch(text);
        }}
      >
        <Field
          label={label}
          type="search"
          autoComplete="off"
          maxLength={LONGEST_SEARCH}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
      </form>
    </search>
  );
}
