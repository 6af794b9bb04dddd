package result

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNotFailed: there is nothing to accept.
var ErrNotFailed = errors.New("no assertion or gate failed in the run")

// Accept lets gates compare with a run of which an assertion or gate failed, and returns its ID. A reference is one of
// [Store.Get].
func (s *Store) Accept(ctx context.Context, ref string) (id string, err error) {
	if id, err = s.find(ctx, ref); err != nil {
		return "", err
	}
	var accepted int64
	err = s.change(ctx, "accept run "+id, func(tx *sql.Tx) error {
		// Go would lose fields of a document that a later rpclab wrote.
		done, err := tx.ExecContext(ctx, `UPDATE runs SET conditions = ?1, document = json_set(document, '$.conditions', ?1)
			WHERE id = ?2 AND conditions IN (?1, ?3)`, ConditionsAccepted, id, ConditionsFailed)
		if err != nil {
			return err
		}
		accepted, err = done.RowsAffected()
		return err
	})
	if err == nil && accepted == 0 {
		err = fmt.Errorf("%w %s", ErrNotFailed, id)
	}
	return id, err
}
