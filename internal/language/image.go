package language

// In a container image of rpclab the programs of each language are below ImageDir. ImageVariable is the environment
// variable of the image that says so.
const (
	ImageDir      = "/opt/rpclab"
	ImageVariable = "RPCLAB_IMAGE_PROGRAMS"
)

// InImage is the command of the language's programs in a container of such an image.
func (l Language) InImage() []string { return []string{"/rpclab", "program", l.Name} }
