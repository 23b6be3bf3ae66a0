import { type InputHTMLAttributes, useId } from 'react';

/** What stands in a field of a form. */
export function textOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value : '';
}

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string;
  readonly hint?: string;
  /** What is wrong with it; several faults are one text. */
  readonly fault?: string | undefined;
}

/** A labelled input; its hint and its fault are read with it. */
export function Field({ label, hint, fault, ...input }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        {...input}
        id={id}
        aria-invalid={fault ? true : undefined}
        aria-describedby={described || undefined}
      />
      {fault && (
        <p id={`${id}-fault`} className="fault" role="alert">
          {fault}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
    </div>
  );
}
