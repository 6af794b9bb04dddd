package result

// ArmsByCell groups the arms by their cells.
func (d Document) ArmsByCell() []InCell[Arm] {
	return ByCell(d.Arms, func(a Arm) Cell { return a.Cell })
}

// ArmKey identifies an arm of a document: its name and the key of its cell.
type ArmKey struct{ Name, Cell string }

// Key returns the key of the arm.
func (a Arm) Key() ArmKey { return ArmKey{a.Name, a.Cell.Key()} }

// ArmsByKey returns the arms by their keys.
func (d Document) ArmsByKey() map[ArmKey]Arm {
	all := make(map[ArmKey]Arm, len(d.Arms))
	for _, arm := range d.Arms {
		all[arm.Key()] = arm
	}
	return all
}
