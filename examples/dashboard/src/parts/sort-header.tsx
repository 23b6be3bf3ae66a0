interface SortHeaderProps {
  readonly label: string;
  /** The name of the column in `sort`. */
  readonly name: string;
  /** As in `TableState`. */
  readonly sort: string;
  /** Whether its largest or latest values come first when it is chosen. */
  readonly descends?: boolean;
  readonly className?: string;
  readonly onSort: (sort: string) => void;
}

/** The head of a column that sorts the table by it, and in the other direction when it is pressed again. */
export function SortHeader({ label, name, sort, descends, className, onSort }: SortHeaderProps) {
  const direction = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined;
  const descend = direction ? direction === 'ascending' : descends;
  return (
    <th scope="col" className={className} aria-sort={direction}>
      <button
        type="button"
        className="quiet sort"
        onClick={() => onSort(`${descend ? '-' : ''}${name}`)}
      >
        {label}
        <span aria-hidden="true">{direction && (direction === 'ascending' ? ' ▲' : ' ▼')}</span>
      </button>
    </th>
  );
}
